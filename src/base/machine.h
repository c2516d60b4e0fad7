#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Hardware and system facts, read from /proc and /sys; unknown ones stay empty or zero.
struct Machine {
  std::string cpu;  // model name
  std::vector<std::string>
      features;             // avx2, avx512f, avx512_bf16, amx_bf16, ...; those that matter here
  int cores = 0;            // available to this process
  double core_quota = 0;    // CPU time limit of the cgroup, in cores; 0: no limit
  int64_t memory = 0;       // bytes
  int64_t free_memory = 0;  // bytes
  int64_t free_disk = 0;    // bytes, of the working directory
  std::string huge_pages;   // always | madvise | never
  std::string allocator;    // tcmalloc ... | libc
  std::vector<std::string> gpus;  // model names from the NVIDIA driver
};

Machine read_machine();

/// Returns the `flags` of /proc/cpuinfo that decide which kernels run.
std::vector<std::string> cpu_features(const std::string& cpuinfo);

/// Parses a cgroup's `cpu.max` into a number of cores ("200000 100000" -> 2); 0: no limit.
double cpu_quota(const std::string& cpu_max);

/// Bytes of memory that this process can still allocate without evicting others: the system's
/// available memory, or less if a cgroup or an address-space limit is tighter.
int64_t available_memory();

/// Limit of the address space (`ulimit -v`) in bytes; -1: none.
int64_t address_space_limit();

/// Whether this many bytes can be mapped right now; the mapping is released at once.
bool can_map(int64_t bytes);

namespace detail {

/// Value of `key` in lines `key value` or `key: value kB`, in bytes; -1: missing.
int64_t parse_size(std::string_view lines, std::string_view key);

}  // namespace detail

}  // namespace weft
