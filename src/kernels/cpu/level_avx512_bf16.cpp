// Empty on other processors, which use the plain level.
#if defined(__x86_64__)
#define WEFT_LEVEL_AVX512_BF16
#include "kernels/cpu/level.h"

namespace weft::kernels::cpu {

extern const KernelTable kAvx512Bf16Table;
constexpr KernelTable kAvx512Bf16Table = WEFT_LEVEL::make_table("avx512_bf16");

}  // namespace weft::kernels::cpu
#endif
