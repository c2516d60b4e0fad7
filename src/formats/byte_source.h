#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft::formats {

/// Stream of the bytes of a file, of standard input (`-`), or of a decompressed gzip (`.gz`) or
/// Zstandard (`.zst`) file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads up to `size` bytes; 0 only at the end. Throws Error.
  virtual std::size_t read(char* bytes, std::size_t size) = 0;
  /// Whether `read` returns at once: a pipe may have to wait for its writer.
  virtual bool is_ready() const { return true; }
  /// Bytes of the (compressed) file consumed so far, and its size (-1: unknown).
  virtual int64_t consumed() const = 0;
  virtual int64_t total() const = 0;
};

/// Throws Error if the file cannot be opened.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// Extension of a compressed file, `.gz` or `.zst`; empty for other paths.
std::string_view compression_of(std::string_view path);
/// The path without the extension of its compression: `a.csv.gz` -> `a.csv`.
std::string_view without_compression(std::string_view path);

}  // namespace weft::formats
