#pragma once

#include <string_view>

namespace weft::kernels::cpu {

/// Level requested by the environment: WEFT_CPU_LEVEL (plain, avx2, avx512, avx512_bf16), else the
/// equivalent of LibTorch's ATEN_CPU_CAPABILITY, so that one switch controls both; empty if neither
/// is set.
std::string_view requested_level();

}  // namespace weft::kernels::cpu
