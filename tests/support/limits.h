#pragma once

#include <csignal>

#include <sys/resource.h>

namespace weft::test {

/// Lets the process write no file larger than that, as a full disk would.
inline void limit_file_size(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace weft::test
