#include "base/memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"

namespace weft {

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// Files of /proc and /sys, whose size the system does not tell; empty where there is none.
std::string memory_contents_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

int64_t number_of(const std::string& word) {
  char* end = nullptr;
  const auto value = std::strtoll(word.c_str(), &end, 10);
  return end == word.c_str() ? -1 : int64_t{value};
}

/// Pages of files count as taken in a group, although it gives up those not in use.
int64_t left_in_group() {
  const int64_t most = number_of(memory_contents_of("/sys/fs/cgroup/memory.max"));
  const int64_t taken = number_of(memory_contents_of("/sys/fs/cgroup/memory.current"));
  if (most < 0 || taken < 0) {
    return kUnlimited;  // no group, or `max`
  }
  const auto files =
      detail::bytes_of(memory_contents_of("/sys/fs/cgroup/memory.stat"), "inactive_file");
  return std::max<int64_t>(0, most - taken + std::max<int64_t>(0, files));
}

int64_t left_of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kUnlimited;
  }
  const int64_t pages = std::max<int64_t>(0, number_of(memory_contents_of("/proc/self/statm")));
  return std::max<int64_t>(
      0, static_cast<int64_t>(limit.rlim_cur) - pages * int64_t{::sysconf(_SC_PAGESIZE)});
}

}  // namespace

bool can_map(int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* const place =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return place != MAP_FAILED && ::munmap(place, size) == 0;
}

namespace detail {

int64_t bytes_of(std::string_view lines, std::string_view key) {
  for (const auto line : split(lines, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() ||
        (line[key.size()] != ':' && line[key.size()] != ' ')) {
      continue;
    }
    const auto value = number_of(std::string(trim(line.substr(key.size() + 1))));
    return line.ends_with(" kB") ? 1024 * value : value;
  }
  return -1;
}

}  // namespace detail

int64_t available_memory() {
  const auto free = detail::bytes_of(memory_contents_of("/proc/meminfo"), "MemAvailable");
  return std::min({free < 0 ? kUnlimited : free, left_in_group(), left_of_addresses()});
}

}  // namespace weft
