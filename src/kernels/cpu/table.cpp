#include "kernels/cpu/table.h"

#include <atomic>
#include <string_view>

#include "kernels/cpu/wanted_level.h"

namespace weft::kernels::cpu {

extern const Table kPlainTable;
#if defined(__x86_64__)
extern const Table kAvx2Table;
extern const Table kAvx512Table;
extern const Table kAvx512Bf16Table;
#endif

namespace {

// Those that this processor can run, best last.
const Table* best_up_to(std::string_view name) {
  const Table* best = &kPlainTable;
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

std::atomic<const Table*>& current() {
  static std::atomic<const Table*> chosen = best_up_to(wanted_level());
  return chosen;
}

}  // namespace

const Table& table() { return *current().load(std::memory_order_relaxed); }

bool use_level(std::string_view name) {
  const Table* const found = best_up_to(name);
  if (name != found->name) {
    return false;
  }
  current().store(found);
  return true;
}

}  // namespace weft::kernels::cpu
