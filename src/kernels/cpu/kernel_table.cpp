#include "kernels/cpu/kernel_table.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace weft::kernels::cpu {

extern const KernelTable kPlainTable;
#if defined(__x86_64__)
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
extern const KernelTable kAvx512Bf16Table;
#endif

namespace {

// Best level that this processor supports, up to the level `name`.
const KernelTable* best_level_up_to(std::string_view name) {
  const KernelTable* best = &kPlainTable;
#if defined(__x86_64__)
  if (name == best->name) {
    return best;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    best = &kAvx2Table;
  }
  if (name == best->name) {
    return best;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    best = &kAvx512Table;
  }
  if (name == best->name) {
    return best;
  }
  if (best == &kAvx512Table && __builtin_cpu_supports("avx512bf16")) {
    best = &kAvx512Bf16Table;
  }
#endif
  return best;
}

std::atomic<const KernelTable*>& current() {
  static std::atomic<const KernelTable*> chosen = best_level_up_to(requested_level());
  return chosen;
}

}  // namespace

std::string_view requested_level() {
  if (const char* const own = std::getenv("WEFT_CPU_LEVEL"); own != nullptr) {
    return own;
  }
  const char* const libtorch = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view capability = libtorch == nullptr ? "" : libtorch;
  return capability == "default" ? "plain" : capability;
}

const KernelTable& kernel_table() { return *current().load(std::memory_order_relaxed); }

bool use_level(std::string_view name) {
  const KernelTable* const found = best_level_up_to(name);
  if (name != found->name) {
    return false;
  }
  current().store(found);
  return true;
}

}  // namespace weft::kernels::cpu
