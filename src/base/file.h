#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace weft {

class FileDescriptor;

/// A file or directory could not be opened, read, written or renamed: `path: cannot ...: system
/// error`.
class FileError : public UserError {
 public:
  using UserError::UserError;
};

/// Writes a file atomically: bytes go to `<path>.tmp-<pid>`; `commit` flushes (fsync), renames and
/// flushes the directory. Without `commit` the destructor removes the temporary file; the other
/// modes keep the bytes already written. A device or a pipe is written directly, whatever the mode.
/// Appends are all-or-nothing: after a failure the file is truncated to the end of the last
/// complete append, and the bytes are kept for the next `flush`. All files that Weft keeps are
/// written through this class. Every call throws FileError.
class FileWriter {
 public:
  enum class Mode {
    kAtomic,  // temporary file, renamed by commit
    kPlain,   // directly into `path`, truncated first (files of a directory that is itself renamed)
    kAppend,  // at the end of `path`
    kUpdate,  // from `seek` on in an existing file, of which the rest stays
  };
  explicit FileWriter(std::string path, Mode mode = Mode::kAtomic);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();

  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// The next bytes go to this position; kUpdate and kPlain only.
  void seek(int64_t position);
  /// Makes the file this long, with zeros at its end; kPlain only.
  void resize(int64_t size);
  /// Passes buffered bytes to the operating system (no fsync).
  void flush();
  /// Flushes and waits until the bytes are on disk (fsync); more may be written afterwards.
  void sync();
  void commit();
  /// Bytes written so far.
  int64_t size() const { return size_; }

 private:
  void append();

  std::string path_;
  std::string open_path_;  // path that is actually open
  std::string buffer_;
  std::unique_ptr<FileDescriptor> file_;
  int64_t size_ = 0;
  bool appends_ = false;
  int64_t intact_size_ = 0;  // append mode: file size after the last complete append
  bool is_torn_ = false;     // an append failed halfway
};

/// Read-only memory map of a whole file. An empty file gives an empty span. Throws FileError.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Removes the whole pages within `bytes` of a mapped file from memory; a later access reads them
/// again.
void release_pages(std::span<const std::byte> bytes);

/// Reads the whole file. Throws FileError, also if it is larger than `limit` bytes.
std::string read_file(const std::string& path, int64_t limit = int64_t{1} << 30);

/// Writes `text` atomically (FileWriter::Mode::kAtomic).
void write_file(const std::string& path, std::string_view text);

/// Creates the directory and its parents, without fsync. Throws FileError.
void make_directories(const std::string& path);

/// The same, but flushes the parents of new directories, so that they survive a power failure.
void make_durable_directories(const std::string& path);

/// Returns the names of the entries of a directory, sorted. Throws FileError.
std::vector<std::string> list_directory(const std::string& directory);

/// Removes a file, a link, or a directory with its contents; a missing path is not an error. Throws
/// FileError.
void remove_tree(const std::string& path);

/// Renames a file or directory and flushes its parent directory. Throws FileError.
void rename_and_flush(const std::string& from, const std::string& to);

/// Swaps two names atomically and flushes their directory; false if the file system does not
/// support it. Throws FileError.
bool exchange_and_flush(const std::string& from, const std::string& to);

/// Calls fsync on a directory. Throws FileError.
void flush_directory(const std::string& path);

/// Points `link` to `target` (relative to the link's directory), atomically replacing an existing
/// link.
void replace_link(const std::string& target, const std::string& link);

/// Free bytes of the file system of `path` (or of its nearest existing parent).
int64_t free_bytes(const std::string& path);

/// Bytes of a file, or of all files in a directory and its subdirectories; 0 for what cannot be
/// read.
int64_t bytes_of_files(const std::string& path);

/// Paths matching a shell pattern (`*`, `?`, `[..]`; `**` is not special), sorted. An existing path
/// matches itself.
std::vector<std::string> glob_paths(const std::string& pattern);

/// 64-bit XXH3 hash.
uint64_t digest(const void* bytes, std::size_t count, uint64_t seed = 0);
inline uint64_t digest(std::string_view text, uint64_t seed = 0) {
  return digest(text.data(), text.size(), seed);
}
/// XXH3 hash of a file, read in chunks. Throws FileError.
uint64_t digest_file(const std::string& path);
/// 16 hexadecimal digits.
std::string to_hex(uint64_t value);

/// A new directory in the system's temporary directory, removed with its contents at the end of the
/// scope.
class TemporaryDirectory {
 public:
  /// `name`: prefix of the directory name. Throws FileError.
  explicit TemporaryDirectory(const std::string& name);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft
