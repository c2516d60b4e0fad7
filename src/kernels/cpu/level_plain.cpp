#define WEFT_LEVEL_PLAIN
#include "kernels/cpu/level.h"

namespace weft::kernels::cpu {

extern const KernelTable kPlainTable;
constexpr KernelTable kPlainTable = WEFT_LEVEL::make_table("plain");

}  // namespace weft::kernels::cpu
