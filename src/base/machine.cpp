#include "base/machine.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/string_util.h"
#include "base/threads.h"

namespace weft {

namespace {

/// Reads a file of /proc or /sys, whose size is not known in advance; empty if missing.
std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return file ? content.str() : "";
}

/// Returns the value of the first line `key : value`.
std::string value_of(std::string_view lines, std::string_view key) {
  for (const auto line : split(lines, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      return std::string(trim(line.substr(colon + 1)));
    }
  }
  return "";
}

/// `always [madvise] never` -> `madvise`.
std::string bracketed_word(const std::string& words) {
  const auto begin = words.find('[');
  const auto end = words.find(']');
  return begin == std::string::npos || end == std::string::npos
             ? ""
             : words.substr(begin + 1, end - begin - 1);
}

std::string find_allocator() {
  using VersionOf = const char* (*)(int*, int*, const char**);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym returns void*.
  const auto version = reinterpret_cast<VersionOf>(::dlsym(RTLD_DEFAULT, "tc_version"));
  return version == nullptr ? "libc"
                            : std::string("tcmalloc ") + version(nullptr, nullptr, nullptr);
}

std::vector<std::string> find_gpus() {
  std::vector<std::string> models;
  for (const auto& path : glob_paths("/proc/driver/nvidia/gpus/*/information")) {
    const auto model = value_of(contents_of(path), "Model");
    models.push_back(model.empty() ? "an NVIDIA GPU" : model);
  }
  return models;
}

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

int64_t parse_integer(const std::string& word) {
  char* end = nullptr;
  const auto value = std::strtoll(word.c_str(), &end, 10);
  return end == word.c_str() ? -1 : int64_t{value};
}

/// Inactive page cache is charged to the cgroup but can be reclaimed, so it counts as free.
int64_t cgroup_memory_left() {
  const int64_t most = parse_integer(contents_of("/sys/fs/cgroup/memory.max"));
  const int64_t taken = parse_integer(contents_of("/sys/fs/cgroup/memory.current"));
  if (most < 0 || taken < 0) {
    return kUnlimited;  // no cgroup, or `max`
  }
  const auto files = detail::parse_size(contents_of("/sys/fs/cgroup/memory.stat"), "inactive_file");
  return std::max<int64_t>(0, most - taken + std::max<int64_t>(0, files));
}

int64_t address_space_left() {
  const auto limit = address_space_limit();
  if (limit < 0) {
    return kUnlimited;
  }
  const int64_t pages = std::max<int64_t>(0, parse_integer(contents_of("/proc/self/statm")));
  return std::max<int64_t>(0, limit - pages * int64_t{::sysconf(_SC_PAGESIZE)});
}

}  // namespace

int64_t address_space_limit() {
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? static_cast<int64_t>(limit.rlim_cur) : -1;
}

std::vector<std::string> cpu_features(const std::string& cpuinfo) {
  auto flags = value_of(cpuinfo, "flags");
  if (flags.empty()) {
    flags = value_of(cpuinfo, "Features");  // name on ARM
  }
  const auto words = split(flags, ' ');
  std::vector<std::string> found;
  for (const auto* name : {"avx2", "fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile",
                           "amx_bf16", "amx_int8", "asimd", "bf16", "sve"}) {
    if (std::find(words.begin(), words.end(), name) != words.end()) {
      found.emplace_back(name);
    }
  }
  return found;
}

double cpu_quota(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0;
  double period = 0;
  return (words >> quota >> period) && period > 0 ? quota / period : 0;
}

Machine read_machine() {
  const auto cpuinfo = contents_of("/proc/cpuinfo");
  const auto meminfo = contents_of("/proc/meminfo");
  return {
      .cpu = value_of(cpuinfo, "model name"),
      .features = cpu_features(cpuinfo),
      .cores = available_cores(),
      .core_quota = cpu_quota(contents_of("/sys/fs/cgroup/cpu.max")),
      .memory = std::max<int64_t>(0, detail::parse_size(meminfo, "MemTotal")),
      .free_memory = std::max<int64_t>(0, detail::parse_size(meminfo, "MemAvailable")),
      .free_disk = free_bytes("."),
      .huge_pages = bracketed_word(contents_of("/sys/kernel/mm/transparent_hugepage/enabled")),
      .allocator = find_allocator(),
      .gpus = find_gpus(),
  };
}

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
  const auto free = detail::parse_size(contents_of("/proc/meminfo"), "MemAvailable");
  return std::min({free < 0 ? kUnlimited : free, cgroup_memory_left(), address_space_left()});
}

}  // namespace weft
