// Empty on other processors, which use the plain level.
#if defined(__x86_64__)
#define WEFT_LEVEL_AVX512
#include "kernels/cpu/level.h"

namespace weft::kernels::cpu {

extern const KernelTable kAvx512Table;
constexpr KernelTable kAvx512Table = WEFT_LEVEL::make_table("avx512");

}  // namespace weft::kernels::cpu
#endif
