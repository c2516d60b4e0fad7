#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Throws FileError `path: cannot <doing>: <reason of errno>`.
[[noreturn]] void throw_errno(std::string_view path, std::string_view doing);

/// Owned file descriptor, closed by the destructor. Interrupted calls are retried; every call
/// throws FileError.
class FileDescriptor {
 public:
  /// `flags` as in open(2); a new file has mode 0666, less the umask. `name`: in errors, instead of
  /// the path of a temporary file.
  FileDescriptor(std::string path, int flags, std::string name = {});
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  /// Reads up to `count` bytes; 0 at the end.
  std::size_t read(void* bytes, std::size_t count) const;
  void write_all(const void* bytes, std::size_t count) const;
  /// Calls fsync; file systems and devices that do not support it are ignored.
  void flush() const;
  /// The next bytes are read or written at this position.
  void seek(int64_t position) const;
  /// Truncates the file to its first `size` bytes, or extends it with zeros.
  void truncate(int64_t size) const;
  /// Grows the file to this size, with blocks on the disk.
  void allocate(int64_t size) const;
  /// Closes the file; may report the failure of an earlier write.
  void close();
  int get() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace weft
