// Vector type of the level being compiled, that level's namespace, and its name and the name of its
// table. The build defines one of WEFT_LEVEL_*.
#pragma once

#if defined(WEFT_LEVEL_AVX512_BF16)
#define WEFT_LEVEL level_avx512_bf16
#define WEFT_LEVEL_NAME "avx512_bf16"
#define WEFT_LEVEL_TABLE kAvx512Bf16Table
#include "kernels/cpu/vector_avx512.h"
#elif defined(WEFT_LEVEL_AVX512_VNNI)
#define WEFT_LEVEL level_avx512_vnni
#define WEFT_LEVEL_NAME "avx512_vnni"
#define WEFT_LEVEL_TABLE kAvx512VnniTable
#include "kernels/cpu/vector_avx512.h"
#elif defined(WEFT_LEVEL_AVX512)
#define WEFT_LEVEL level_avx512
#define WEFT_LEVEL_NAME "avx512"
#define WEFT_LEVEL_TABLE kAvx512Table
#include "kernels/cpu/vector_avx512.h"
#elif defined(WEFT_LEVEL_AVX2)
#define WEFT_LEVEL level_avx2
#define WEFT_LEVEL_NAME "avx2"
#define WEFT_LEVEL_TABLE kAvx2Table
#include "kernels/cpu/vector_avx2.h"
#elif defined(WEFT_LEVEL_PLAIN)
#define WEFT_LEVEL level_plain
#define WEFT_LEVEL_NAME "plain"
#define WEFT_LEVEL_TABLE kPlainTable
#include "kernels/cpu/vector_plain.h"
#else
#error "a unit of kernels/cpu must define its level"
#endif
