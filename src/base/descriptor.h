#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Throws FileError `path: cannot <doing>: <reason of errno>`.
[[noreturn]] void fail_with_errno(std::string_view path, std::string_view doing);

/// An open file of the system, closed with its owner. Interrupted calls are repeated; every call
/// throws FileError.
class Descriptor {
 public:
  /// `flags` of open(2); a new file may be read and written by all that the umask lets.
  Descriptor(std::string path, int flags);
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  /// Up to `count` bytes; 0 at the end.
  std::size_t read(void* bytes, std::size_t count) const;
  void write_all(const void* bytes, std::size_t count) const;
  /// fsync; file systems and devices that know none are passed over.
  void flush() const;
  /// Cuts the file to its first `size` bytes.
  void cut_to(int64_t size) const;
  /// Closing may report an earlier write that failed.
  void close();
  int get() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace weft
