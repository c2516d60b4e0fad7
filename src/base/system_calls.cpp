#include "base/system_calls.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fault_injection.h"

namespace weft::system_calls {

namespace {

using fault::Call;

/// Makes the call, unless the fault plan makes it fail.
template <class Make>
auto made(Call call, const std::string& what, const Make& make) {
  const auto outcome = fault::inject(call, what);
  if (outcome.error != 0) {
    errno = outcome.error;
    return decltype(make())(-1);
  }
  return make();
}

}  // namespace

int open(const std::string& path, int flags) {
  constexpr mode_t kMode = 0666;
  const auto make = [&] { return ::open(path.c_str(), flags | O_CLOEXEC, kMode); };
  // Directories are opened only to be flushed.
  const bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_DIRECTORY) != 0;
  return changes ? made(Call::kOpen, path, make) : make();
}

ssize_t write(int descriptor, const std::string& path, const void* bytes, std::size_t count) {
  const auto outcome = fault::inject(Call::kWrite, path);
  if (outcome.is_torn) {
    const auto half = ::write(descriptor, bytes, count / 2);
    std::raise(SIGKILL);
    return half;
  }
  errno = outcome.error;
  return outcome.error != 0 ? -1 : ::write(descriptor, bytes, count);
}

int flush(int descriptor, const std::string& path) {
  return made(Call::kFlush, path, [&] { return ::fsync(descriptor); });
}

int close(int descriptor, const std::string& path) {
  const auto outcome = fault::inject(Call::kClose, path);
  const int result = ::close(descriptor);  // closes the descriptor even if it fails
  if (outcome.error == 0) {
    return result;
  }
  errno = outcome.error;
  return -1;
}

int truncate(int descriptor, const std::string& path, int64_t size) {
  return made(Call::kTruncate, path, [&] { return ::ftruncate(descriptor, size); });
}

int allocate(int descriptor, const std::string& path, int64_t size) {
  return made(Call::kTruncate, path, [&] {
    errno = ::posix_fallocate(descriptor, 0, size);
    return errno == 0 ? 0 : -1;
  });
}

int rename(const std::string& from, const std::string& to) {
  return made(Call::kRename, from + " " + to,
              [&] { return std::rename(from.c_str(), to.c_str()); });
}

int exchange(const std::string& from, const std::string& to) {
  return made(Call::kExchange, from + " " + to, [&] {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE);
  });
}

int link(const std::string& target, const std::string& path) {
  return made(Call::kLink, path, [&] { return ::symlink(target.c_str(), path.c_str()); });
}

int remove(const std::string& path) {
  return made(Call::kRemove, path, [&] { return std::remove(path.c_str()); });
}

int make_directory(const std::string& path) {
  constexpr mode_t kMode = 0777;
  return made(Call::kMakeDirectory, path, [&] { return ::mkdir(path.c_str(), kMode); });
}

int64_t free_space(const std::string& path) {
  struct statvfs status {};
  const auto outcome = fault::inject(Call::kSpace, path);
  if (outcome.error != 0) {
    return 0;
  }
  if (::statvfs(path.c_str(), &status) != 0) {
    return -1;
  }
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

}  // namespace weft::system_calls
