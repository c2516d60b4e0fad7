// Vector type of the level being compiled, and that level's namespace. Each translation unit
// defines one of WEFT_LEVEL_*.
#pragma once

#if defined(WEFT_LEVEL_AVX512_BF16)
#define WEFT_LEVEL level_avx512_bf16
#include "kernels/cpu/vector_avx512.h"
#elif defined(WEFT_LEVEL_AVX512)
#define WEFT_LEVEL level_avx512
#include "kernels/cpu/vector_avx512.h"
#elif defined(WEFT_LEVEL_AVX2)
#define WEFT_LEVEL level_avx2
#include "kernels/cpu/vector_avx2.h"
#elif defined(WEFT_LEVEL_PLAIN)
#define WEFT_LEVEL level_plain
#include "kernels/cpu/vector_plain.h"
#else
#error "a unit of kernels/cpu must define its level"
#endif
