// One vector of floats, AVX2 with FMA. Included only by per-level translation units.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kLanes = 8;
inline constexpr int kTileVectors = 2;
inline constexpr int kTileRows = 6;
inline constexpr int kTileRowsNarrow = 8;
inline constexpr bool kMultipliesPairs = false;
using Vec = __m256;
using Int = __m256i;

inline Vec zero() { return _mm256_setzero_ps(); }
inline Vec set(float x) { return _mm256_set1_ps(x); }
inline Int set_int(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }

inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline Vec load(const Bf16* p) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
inline void store(float* p, Vec x) { _mm256_storeu_ps(p, x); }
// Rounds to nearest, ties to even; NaN stays NaN.
inline void store(Bf16* p, Vec x) {
  const Int bits = _mm256_castps_si256(x);
  const Int odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), set_int(1));
  const Int rounded = _mm256_add_epi32(_mm256_add_epi32(bits, set_int(0x7FFF)), odd);
  const Int is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const Int quiet = _mm256_or_si256(bits, set_int(0x400000));
  const Int safe = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
  const Int packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(safe, safe), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}

inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
// The larger of two numbers that are not negative; NaN if one of them is.
inline Vec maximum_or_nan(Vec a, Vec b) {
  return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
inline Vec minimum(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec square_root(Vec x) { return _mm256_sqrt_ps(x); }
// 1 / x with 11 bits of precision.
inline Vec approx_reciprocal(Vec x) { return _mm256_rcp_ps(x); }
inline Vec absolute(Vec x) { return _mm256_andnot_ps(set(-0.0F), x); }
inline Vec with_sign_of(Vec x, Vec sign) {
  return _mm256_or_ps(absolute(x), _mm256_and_ps(set(-0.0F), sign));
}
inline Vec where_less(Vec a, Vec b, Vec yes, Vec no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
inline Vec keep(Vec x, uint32_t bits) {
  const Int lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const Int mask = _mm256_cmpeq_epi32(_mm256_and_si256(set_int(bits), lane), lane);
  return _mm256_and_ps(x, _mm256_castsi256_ps(mask));
}
inline Vec power_from_bits(Vec magic) {
  const Int shifted = _mm256_slli_epi32(_mm256_castps_si256(magic), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(shifted, set_int(0x3F800000)));
}
inline Vec either_bits(Vec a, Vec b) { return _mm256_or_ps(a, b); }
inline bool has_bits(Vec x) {
  const Int bits = _mm256_castps_si256(x);
  return _mm256_testz_si256(bits, bits) == 0;
}
inline float sum(Vec x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float largest(Vec x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

inline Vec zip_low(Vec a, Vec b) {
  return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x20);
}
inline Vec zip_high(Vec a, Vec b) {
  return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x31);
}

struct Squares {
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
};
inline void add_squares(Squares& squares, Vec x) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  squares.low = _mm256_fmadd_pd(low, low, squares.low);
  squares.high = _mm256_fmadd_pd(high, high, squares.high);
}
inline double total(const Squares& squares) {
  double lanes[4];
  _mm256_storeu_pd(lanes, _mm256_add_pd(squares.low, squares.high));
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

struct Halves {
  Int low;
  Int high;
};
inline Halves multiply(Int x, uint32_t factor) {
  const Int f = set_int(factor);
  const Int even = _mm256_mul_epu32(x, f);
  const Int odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), f);
  return {_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA),
          _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA)};
}
inline Int exclusive_or(Int a, Int b, Int c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
inline Int lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
inline Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
// Both sides are below 2^16, so a signed comparison is correct.
inline uint32_t at_least(Int x, Int threshold) {
  const Int below = _mm256_cmpgt_epi32(threshold, x);
  return ~static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(below))) & 0xFFU;
}
inline uint32_t low_at_least(Int x, Int threshold) {
  return at_least(_mm256_and_si256(x, set_int(0xFFFF)), threshold);
}
inline uint32_t high_at_least(Int x, Int threshold) {
  return at_least(_mm256_srli_epi32(x, 16), threshold);
}

// Products of int8: pairs of 16-bit integers and the sums of their products in 32 bits.
using Int8Value = int16_t;
inline constexpr int32_t kInt8Offset = 0;
inline Int load_int8(const int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Int add_products(Int sums, Int a, Int b) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
}
inline Int load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Int*>(p)); }
inline Vec to_float(Int x) { return _mm256_cvtepi32_ps(x); }
// The lowest bits of the lanes.
inline void store_int8(Int8Value* p, Vec x) {
  const Int low = _mm256_and_si256(_mm256_castps_si256(x), set_int(0xFFFF));
  const Int packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL

#include "kernels/cpu/partial.h"
