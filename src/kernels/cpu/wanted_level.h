#pragma once

#include <string_view>

namespace weft::kernels::cpu {

/// The level that the environment asks for: WEFT_CPU_LEVEL (plain, avx2, avx512, avx512_bf16), else
/// what LibTorch's own switch ATEN_CPU_CAPABILITY means for us, so that one switch holds both;
/// empty where neither asks for one.
std::string_view wanted_level();

}  // namespace weft::kernels::cpu
