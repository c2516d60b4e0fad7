#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/string_util.h"
#include "formats/error.h"

namespace weft::formats {

/// Throws Error. The reader of the file adds its name, row and column.
[[noreturn]] inline void fail_damaged(std::string_view what) {
  throw Error(str_cat("damaged Parquet data: ", what));
}

/// Cursor over bytes of a Parquet file. Throws Error at their end.
class ParquetBytes {
 public:
  explicit ParquetBytes(std::string_view bytes = {}) : bytes_(bytes) {}

  std::string_view rest() const { return bytes_; }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) {
      fail_damaged("it ends too early");
    }
    const auto taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  /// Little-endian number of up to 8 bytes.
  uint64_t number(std::size_t width) {
    uint64_t value = 0;
    std::memcpy(&value, take(width).data(), width);
    return value;
  }

  /// Number of 7 bits per byte, the lowest first.
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = number(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    fail_damaged("a number of more than 64 bits");
  }

  /// Signed varint: 0, -1, 1, -2, ...
  int64_t zigzag() {
    const uint64_t value = varint();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }

 private:
  std::string_view bytes_;
};

/// Number of `width` bits, at most 64, at a bit offset of bit-packed data.
inline uint64_t bits_at(std::string_view bytes, uint64_t offset, uint64_t width) {
  const uint64_t first = offset / 8;
  const uint64_t shift = offset % 8;
  if (first + (shift + width + 7) / 8 > bytes.size()) {
    fail_damaged("it ends too early");
  }
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + first, std::min<uint64_t>(8, bytes.size() - first));
  value >>= shift;
  if (shift + width > 64) {
    value |= uint64_t{static_cast<unsigned char>(bytes[first + 8])} << (64 - shift);
  }
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

}  // namespace weft::formats
