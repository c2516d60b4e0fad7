// Compiled once for each instruction set level (scripts/cmake/CpuLevels.cmake).
#include "kernels/cpu/level.h"

namespace weft::kernels::cpu {

extern const KernelTable WEFT_LEVEL_TABLE;
constexpr KernelTable WEFT_LEVEL_TABLE = WEFT_LEVEL::make_table(WEFT_LEVEL_NAME);

}  // namespace weft::kernels::cpu
