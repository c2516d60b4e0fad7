// Empty on other processors, which use the plain level.
#if defined(__x86_64__)
#define WEFT_LEVEL_AVX2
#include "kernels/cpu/level.h"

namespace weft::kernels::cpu {

extern const KernelTable kAvx2Table;
constexpr KernelTable kAvx2Table = WEFT_LEVEL::make_table("avx2");

}  // namespace weft::kernels::cpu
#endif
