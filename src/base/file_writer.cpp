#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/string_util.h"
#include "base/system_calls.h"

namespace weft {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

/// Whether `path` is a device or a pipe, which must not be replaced by renaming (as root, that
/// would even replace /dev/null by a file).
bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

FileWriter::FileWriter(std::string path, Mode mode) : path_(std::move(path)), open_path_(path_) {
  int flags = O_WRONLY | O_CREAT | (mode == Mode::kAppend ? O_APPEND : O_TRUNC);
  if (mode == Mode::kUpdate) {
    flags = O_WRONLY;
  } else if (is_special(path_)) {
    flags = O_WRONLY | (mode == Mode::kAppend ? O_APPEND : 0);
  } else if (mode == Mode::kAtomic) {
    open_path_ = str_cat(path_, ".tmp-", ::getpid());
  }
  file_ = std::make_unique<FileDescriptor>(open_path_, flags, path_);
  struct stat status {};
  if (mode == Mode::kAppend && ::fstat(file_->get(), &status) == 0 && S_ISREG(status.st_mode)) {
    appends_ = true;
    intact_size_ = int64_t{status.st_size};
  }
}

FileWriter::~FileWriter() {
  if (!file_) {
    return;
  }
  if (open_path_ != path_) {
    file_.reset();
    system_calls::remove(open_path_);
    return;
  }
  try {
    flush();
  } catch (const FileError&) {
    // Ignored: callers that need to know have called flush or commit.
  }
}

void FileWriter::write(const void* bytes, std::size_t count) {
  size_ += static_cast<int64_t>(count);
  if (appends_) {
    buffer_.append(static_cast<const char*>(bytes), count);
    if (buffer_.size() > kBuffer) {
      append();
    }
    return;
  }
  if (buffer_.size() + count > kBuffer) {
    flush();
  }
  if (count >= kBuffer) {
    file_->write_all(bytes, count);
  } else {
    buffer_.append(static_cast<const char*>(bytes), count);
  }
}

void FileWriter::flush() {
  if (appends_) {
    append();
    return;
  }
  // Cleared first, so that nothing is written twice after a failure.
  const std::string bytes = std::exchange(buffer_, {});
  file_->write_all(bytes.data(), bytes.size());
}

void FileWriter::seek(int64_t position) {
  flush();
  file_->seek(position);
}

void FileWriter::resize(int64_t size) {
  flush();
  file_->truncate(size);
}

void FileWriter::append() {
  if (is_torn_) {
    file_->truncate(intact_size_);
    is_torn_ = false;
  }
  try {
    file_->write_all(buffer_.data(), buffer_.size());
  } catch (const FileError&) {
    // Truncate now, so that nobody reads half a line; if that fails too, before the next try.
    is_torn_ = system_calls::truncate(file_->get(), open_path_, intact_size_) != 0;
    throw;
  }
  intact_size_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

void FileWriter::sync() {
  flush();
  file_->flush();
}

void FileWriter::commit() {
  flush();
  file_->flush();
  file_->close();
  if (open_path_ != path_) {
    if (system_calls::rename(open_path_, path_) != 0) {
      throw_errno(path_, "rename the finished file to this name");
    }
    open_path_ = path_;
    flush_directory(std::filesystem::path(path_).parent_path().string());
  }
  file_.reset();
}

}  // namespace weft
