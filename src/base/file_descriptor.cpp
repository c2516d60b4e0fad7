#include "base/file_descriptor.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/string_util.h"
#include "base/system_calls.h"

namespace weft {

namespace {

/// Retries a system call interrupted by a signal.
template <class Call>
auto repeated(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

}  // namespace

void throw_errno(std::string_view path, std::string_view doing) {
  const std::string reason = std::generic_category().message(errno);
  throw FileError(str_cat(path, ": cannot ", doing, ": ", reason));
}

FileDescriptor::FileDescriptor(std::string path, int flags, std::string name)
    : path_(std::move(path)), name_(name.empty() ? path_ : std::move(name)) {
  descriptor_ = repeated([&] { return system_calls::open(path_, flags); });
  if (descriptor_ < 0) {
    throw_errno(name_, "open");
  }
}

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

std::size_t FileDescriptor::read(void* bytes, std::size_t count) const {
  const auto got = repeated([&] { return ::read(descriptor_, bytes, count); });
  if (got < 0) {
    throw_errno(name_, "read");
  }
  return static_cast<std::size_t>(got);
}

void FileDescriptor::write_all(const void* bytes, std::size_t count) const {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const auto done =
        repeated([&] { return system_calls::write(descriptor_, path_, from, count); });
    if (done < 0) {
      throw_errno(name_, "write");
    }
    from += done;
    count -= static_cast<std::size_t>(done);
  }
}

void FileDescriptor::flush() const {
  if (repeated([&] { return system_calls::flush(descriptor_, path_); }) < 0 && errno != EINVAL &&
      errno != ENOTSUP && errno != EROFS) {
    throw_errno(name_, "flush");
  }
}

void FileDescriptor::seek(int64_t position) const {
  if (::lseek(descriptor_, position, SEEK_SET) < 0) {
    throw_errno(name_, "seek");
  }
}

void FileDescriptor::truncate(int64_t size) const {
  if (repeated([&] { return system_calls::truncate(descriptor_, path_, size); }) < 0) {
    throw_errno(name_, "cut");
  }
}

void FileDescriptor::allocate(int64_t size) const {
  if (repeated([&] { return system_calls::allocate(descriptor_, path_, size); }) < 0) {
    throw_errno(name_, "allocate space for");
  }
}

void FileDescriptor::close() {
  // The descriptor is closed even after EINTR (Linux).
  const int result = system_calls::close(std::exchange(descriptor_, -1), path_);
  if (result < 0 && errno != EINTR) {
    throw_errno(name_, "close");
  }
}

}  // namespace weft
