#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weft::formats {

/// Memory for a decompressed page, kept for the next one.
class ParquetBuffer {
 public:
  char* reserve(std::size_t size);

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
};

/// Decompresses a page to exactly `size` bytes, valid until the buffer's next use. `codec`: as
/// numbered in the format. Throws Error without the file's name.
std::string_view decompress_page(int64_t codec,
                                 std::string_view stored,
                                 std::size_t size,
                                 ParquetBuffer& buffer);

}  // namespace weft::formats
