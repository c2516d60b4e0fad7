#include "kernels/cpu/kernel_table.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft::kernels::cpu {

extern const KernelTable kPlainTable;
#if defined(__x86_64__)
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
extern const KernelTable kAvx512VnniTable;
extern const KernelTable kAvx512Bf16Table;
#endif

namespace {

#if defined(__x86_64__)
// Whether the processor has AMX tiles for bf16; clang's builtin does not know them.
bool has_amx_bf16() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (1U << 22U)) != 0;
}
#endif

const Processor& this_processor() {
#if defined(__x86_64__)
  static const Processor kProcessor{
      .has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
      .has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
      .has_vnni = __builtin_cpu_supports("avx512vnni") != 0,
      .has_bf16 = __builtin_cpu_supports("avx512bf16") != 0,
      .has_amx = has_amx_bf16(),
      .is_intel = __builtin_cpu_is("intel") != 0};
#else
  static const Processor kProcessor{};
#endif
  return kProcessor;
}

const KernelTable* table_of(std::string_view name) {
#if defined(__x86_64__)
  for (const auto* const table :
       {&kAvx2Table, &kAvx512Table, &kAvx512VnniTable, &kAvx512Bf16Table}) {
    if (name == table->name) {
      return table;
    }
  }
#endif
  return &kPlainTable;
}

std::atomic<const KernelTable*>& current() {
  static std::atomic<const KernelTable*> chosen =
      table_of(fastest_level(this_processor(), requested_level()));
  return chosen;
}

}  // namespace

std::string_view requested_level() {
  if (const char* const own = std::getenv("WEFT_CPU_LEVEL"); own != nullptr) {
    return own;
  }
  const char* const libtorch = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view capability = libtorch == nullptr ? "" : libtorch;
  if (capability == "default") {
    return "plain";
  }
  return capability == "avx512" ? "" : capability;  // its highest
}

// Measured: an Intel Xeon (family 6, model 207) without AMX multiplies 0.19 TFLOP/s with bf16
// instructions and 0.32 TFLOP/s in fp32; on AMD bf16 is twice as fast as fp32.
std::string_view fastest_level(const Processor& processor, std::string_view limit) {
  if (!processor.has_avx2 || limit == "plain") {
    return "plain";
  }
  if (!processor.has_avx512 || limit == "avx2") {
    return "avx2";
  }
  if (!processor.has_vnni || limit == "avx512") {
    return "avx512";
  }
  if (!processor.has_bf16 || limit == "avx512_vnni") {
    return "avx512_vnni";
  }
  const bool is_fast = !processor.is_intel || processor.has_amx;
  return is_fast || limit == "avx512_bf16" ? "avx512_bf16" : "avx512_vnni";
}

bool has_avx2() { return this_processor().has_avx2; }

bool has_amx() { return this_processor().has_amx; }

const KernelTable& kernel_table() { return *current().load(std::memory_order_relaxed); }

bool use_level(std::string_view name) {
  if (name != fastest_level(this_processor(), name)) {
    return false;
  }
  current().store(table_of(name));
  return true;
}

}  // namespace weft::kernels::cpu
