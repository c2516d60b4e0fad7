#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// What the system says about itself, read from /proc and /sys; what is not told there stays empty
/// or zero.
struct Machine {
  std::string cpu;  // model name
  std::vector<std::string>
      features;             // avx2, avx512f, avx512_bf16, amx_bf16, ... of those that matter here
  int cores = 0;            // that this process may use
  double core_quota = 0;    // cores' worth of time that the control group allows; 0: no limit
  int64_t memory = 0;       // bytes
  int64_t free_memory = 0;  // bytes
  int64_t free_disk = 0;    // bytes, of the working directory
  std::string huge_pages;   // always | madvise | never
  std::string allocator;    // tcmalloc ... | libc
  std::vector<std::string> gpus;  // models of the NVIDIA driver
};

Machine read_machine();

/// The features among the `flags` of /proc/cpuinfo that decide which kernels run.
std::vector<std::string> features_of(const std::string& cpuinfo);

/// Cores' worth of time of a control group's `cpu.max` ("200000 100000" -> 2); 0: no limit.
double quota_of(const std::string& cpu_max);

}  // namespace weft
