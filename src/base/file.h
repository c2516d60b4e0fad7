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

class Descriptor;

/// A file or directory could not be opened, read, written, renamed: `path: cannot ...: reason of
/// the system`.
class FileError : public UserError {
 public:
  using UserError::UserError;
};

/// A file that appears whole or not at all: bytes go to `<path>.tmp-<pid>`, `commit` flushes
/// (fsync), renames and flushes the directory. Without `commit` the destructor removes the
/// temporary file. Every call throws FileError. A device or a pipe is written as it lies, whatever
/// the mode. Without `commit` the other modes keep what was written. All files that Weft keeps are
/// written through this class. What is appended lands whole or not at all: after a failure the file
/// is cut back to its last whole piece, and the bytes are kept for the next `flush`.
class FileWriter {
 public:
  enum class Mode {
    kAtomic,  // temporary file, renamed by commit
    kPlain,   // straight into `path`, truncated first (files of a directory that is itself renamed
              // whole)
    kAppend,  // at the end of `path`
  };
  explicit FileWriter(std::string path, Mode mode = Mode::kAtomic);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();

  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Hands buffered bytes to the system (no fsync).
  void flush();
  /// `flush`, and waits until the bytes are on the disk (fsync); more may follow.
  void sync();
  void commit();
  /// Bytes written so far.
  int64_t size() const { return size_; }

 private:
  void append();

  std::string path_;
  std::string writing_;  // the path that is open
  std::string buffer_;
  std::unique_ptr<Descriptor> file_;
  int64_t size_ = 0;
  bool appends_ = false;
  int64_t whole_ = 0;     // bytes of the file that end with a whole piece, where it appends
  bool is_torn_ = false;  // an append failed in its midst
};

/// A read-only memory map of a whole file. Throws FileError. An empty file gives an empty span.
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

/// The whole file; throws FileError, also where it is larger than `limit` bytes.
std::string read_file(const std::string& path, int64_t limit = int64_t{1} << 30);

/// Writes `text` whole or not at all (FileWriter::Mode::kAtomic).
void write_file(const std::string& path, std::string_view text);

/// Makes the directory and its parents; flushes nothing. Throws FileError.
void make_directories(const std::string& path);

/// The same, and flushes the directories that hold new ones, so that they outlast a power cut.
void make_lasting_directories(const std::string& path);

/// The names of what lies in a directory, sorted. Throws FileError.
std::vector<std::string> names_in(const std::string& directory);

/// Removes a file, a link, or a directory with all it holds; what is not there is no error. Throws
/// FileError.
void remove_tree(const std::string& path);

/// Renames a file or directory and flushes the directory that holds it. Throws FileError.
void rename_and_flush(const std::string& from, const std::string& to);

/// Lets two names change places in one step and flushes their directory; false where the file
/// system knows no such step. Throws FileError.
bool exchange_and_flush(const std::string& from, const std::string& to);

/// fsync of a directory. Throws FileError.
void flush_directory(const std::string& path);

/// Makes `link` point to `target` (relative to the link's directory), replacing an older link in
/// one step.
void replace_link(const std::string& target, const std::string& link);

/// Free bytes of the file system that holds `path` (or its nearest existing parent).
int64_t free_bytes(const std::string& path);

/// Paths matching a shell pattern (`*`, `?`, `[..]`; `**` is not special), sorted; a path without
/// such signs matches itself when it exists.
std::vector<std::string> glob_paths(const std::string& pattern);

/// XXH3, 64 bits.
uint64_t digest(const void* bytes, std::size_t count, uint64_t seed = 0);
inline uint64_t digest(std::string_view text, uint64_t seed = 0) {
  return digest(text.data(), text.size(), seed);
}
/// XXH3 of a file's bytes, read in pieces. Throws FileError.
uint64_t digest_file(const std::string& path);
/// 16 hexadecimal digits.
std::string hex(uint64_t value);

}  // namespace weft
