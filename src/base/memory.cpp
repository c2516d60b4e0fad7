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

#include "base/string_util.h"

namespace weft {

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// Reads a file of /proc or /sys, whose size is not known in advance; empty if missing.
std::string memory_contents_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

int64_t parse_integer(const std::string& word) {
  char* end = nullptr;
  const auto value = std::strtoll(word.c_str(), &end, 10);
  return end == word.c_str() ? -1 : int64_t{value};
}

/// Inactive page cache is charged to the cgroup but can be reclaimed, so it counts as free.
int64_t cgroup_memory_left() {
  const int64_t most = parse_integer(memory_contents_of("/sys/fs/cgroup/memory.max"));
  const int64_t taken = parse_integer(memory_contents_of("/sys/fs/cgroup/memory.current"));
  if (most < 0 || taken < 0) {
    return kUnlimited;  // no cgroup, or `max`
  }
  const auto files =
      detail::parse_size(memory_contents_of("/sys/fs/cgroup/memory.stat"), "inactive_file");
  return std::max<int64_t>(0, most - taken + std::max<int64_t>(0, files));
}

int64_t address_space_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kUnlimited;
  }
  const int64_t pages = std::max<int64_t>(0, parse_integer(memory_contents_of("/proc/self/statm")));
  return std::max<int64_t>(
      0, static_cast<int64_t>(limit.rlim_cur) - pages * int64_t{::sysconf(_SC_PAGESIZE)});
}

}  // namespace

bool can_map(int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* const address =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address != MAP_FAILED && ::munmap(address, size) == 0;
}

namespace detail {

int64_t parse_size(std::string_view lines, std::string_view key) {
  for (const auto line : split(lines, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() ||
        (line[key.size()] != ':' && line[key.size()] != ' ')) {
      continue;
    }
    const auto value = parse_integer(std::string(trim(line.substr(key.size() + 1))));
    return line.ends_with(" kB") ? 1024 * value : value;
  }
  return -1;
}

}  // namespace detail

int64_t available_memory() {
  const auto free = detail::parse_size(memory_contents_of("/proc/meminfo"), "MemAvailable");
  return std::min({free < 0 ? kUnlimited : free, cgroup_memory_left(), address_space_left()});
}

}  // namespace weft
