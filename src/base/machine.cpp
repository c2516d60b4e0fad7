#include "base/machine.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include <dlfcn.h>

#include "base/file.h"
#include "base/string_util.h"
#include "base/threads.h"

namespace weft {
namespace {

/// Reads a file of /proc or /sys, whose size is not known in advance; empty if missing.
std::string machine_contents_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return file ? content.str() : "";
}

/// Returns the value of the first line `key : value`.
std::string machine_value_of(std::string_view lines, std::string_view key) {
  for (const auto line : split(lines, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      return std::string(trim(line.substr(colon + 1)));
    }
  }
  return "";
}

int64_t size_in_bytes(std::string_view lines, std::string_view key) {
  const auto value = machine_value_of(lines, key);
  return value.empty() ? 0 : std::stoll(value) * 1024;
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
    const auto model = machine_value_of(machine_contents_of(path), "Model");
    models.push_back(model.empty() ? "an NVIDIA GPU" : model);
  }
  return models;
}

}  // namespace

std::vector<std::string> cpu_features(const std::string& cpuinfo) {
  auto flags = machine_value_of(cpuinfo, "flags");
  if (flags.empty()) {
    flags = machine_value_of(cpuinfo, "Features");  // name on ARM
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
  const auto cpuinfo = machine_contents_of("/proc/cpuinfo");
  const auto meminfo = machine_contents_of("/proc/meminfo");
  return {
      .cpu = machine_value_of(cpuinfo, "model name"),
      .features = cpu_features(cpuinfo),
      .cores = available_cores(),
      .core_quota = cpu_quota(machine_contents_of("/sys/fs/cgroup/cpu.max")),
      .memory = size_in_bytes(meminfo, "MemTotal"),
      .free_memory = size_in_bytes(meminfo, "MemAvailable"),
      .free_disk = free_bytes("."),
      .huge_pages =
          bracketed_word(machine_contents_of("/sys/kernel/mm/transparent_hugepage/enabled")),
      .allocator = find_allocator(),
      .gpus = find_gpus(),
  };
}

}  // namespace weft
