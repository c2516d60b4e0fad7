// One vector of floats, AVX-512 (F, BW, DQ, VL), with or without instructions for int8 and bf16.
// Included only by per-level translation units.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kLanes = 16;
inline constexpr int kTileVectors = 4;  // tile of a product: vectors of columns
inline constexpr int kTileRows = 6;     // tile of a product: rows; more if it is narrower
inline constexpr int kTileRowsNarrow = 8;
using Vec = __m512;
using Int = __m512i;

inline Vec zero() { return _mm512_setzero_ps(); }
inline Vec set(float x) { return _mm512_set1_ps(x); }
inline Int set_int(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
inline __mmask16 first_lanes(int count) { return static_cast<__mmask16>((1U << count) - 1U); }

inline Vec widen(__m256i halves) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// Rounds to nearest, ties to even; NaN stays NaN.
#if defined(__AVX512BF16__)
inline __m256i narrow(Vec x) { return (__m256i)_mm512_cvtneps_pbh(x); }
#else
inline __m256i narrow(Vec x) {
  const Int bits = _mm512_castps_si512(x);
  const Int odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), set_int(1));
  const Int rounded = _mm512_add_epi32(_mm512_add_epi32(bits, set_int(0x7FFF)), odd);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const Int safe = _mm512_mask_or_epi32(rounded, is_nan, bits, set_int(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(safe, 16));
}
#endif

inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline Vec load(const Bf16* p) {
  return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vec load(const float* p, int count) { return _mm512_maskz_loadu_ps(first_lanes(count), p); }
inline Vec load(const Bf16* p, int count) {
  return widen(_mm256_maskz_loadu_epi16(first_lanes(count), p));
}
inline void store(float* p, Vec x) { _mm512_storeu_ps(p, x); }
inline void store(Bf16* p, Vec x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow(x)); }
inline void store(float* p, Vec x, int count) { _mm512_mask_storeu_ps(p, first_lanes(count), x); }
inline void store(Bf16* p, Vec x, int count) {
  _mm256_mask_storeu_epi16(p, first_lanes(count), narrow(x));
}

inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }

#if defined(__AVX512BF16__)
inline constexpr bool kMultipliesPairs = true;
inline Int load(const Pair* p) { return _mm512_loadu_si512(p); }
inline void store(Bf16* p, Vec first, Vec second) {
  _mm512_storeu_si512(p, (Int)_mm512_cvtne2ps_pbh(second, first));
}
inline void store(Pair* p, Vec first, Vec second) {
  const Int places = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                      23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const auto halves = (Int)_mm512_cvtne2ps_pbh(second, first);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi16(places, halves));
}
inline Int spread(const Pair* p) {
  int bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  return _mm512_set1_epi32(bits);
}
// c plus both products of the pairs.
inline Vec fma(Int a, Int b, Vec c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }
#else
inline constexpr bool kMultipliesPairs = false;
#endif

// Returns b if either is NaN.
inline Vec maximum(Vec a, Vec b) { return _mm512_max_ps(a, b); }
// The larger of two numbers that are not negative; NaN if one of them is.
inline Vec maximum_or_nan(Vec a, Vec b) {
  return _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}
inline Vec minimum(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec square_root(Vec x) { return _mm512_sqrt_ps(x); }
// 1 / x with 14 bits of precision.
inline Vec approx_reciprocal(Vec x) { return _mm512_rcp14_ps(x); }
inline Vec absolute(Vec x) { return _mm512_andnot_ps(set(-0.0F), x); }
inline Vec with_sign_of(Vec x, Vec sign) {
  return _mm512_or_ps(absolute(x), _mm512_and_ps(set(-0.0F), sign));
}
inline Vec where_less(Vec a, Vec b, Vec yes, Vec no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
// x where the lane's bit is set, else 0.
inline Vec keep(Vec x, uint32_t bits) {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), x);
}
// 2^n, from a float whose low mantissa bits contain n; 0 for n = -127.
inline Vec power_from_bits(Vec magic) {
  const Int shifted = _mm512_slli_epi32(_mm512_castps_si512(magic), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(shifted, set_int(0x3F800000)));
}
inline Vec either_bits(Vec a, Vec b) { return _mm512_or_ps(a, b); }
inline bool has_bits(Vec x) {
  const Int bits = _mm512_castps_si512(x);
  return _mm512_test_epi32_mask(bits, bits) != 0;
}
inline float sum(Vec x) { return _mm512_reduce_add_ps(x); }
inline float largest(Vec x) { return _mm512_reduce_max_ps(x); }

inline Vec zip_low(Vec a, Vec b) {
  const Int places = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return _mm512_permutex2var_ps(a, places, b);
}
inline Vec zip_high(Vec a, Vec b) {
  const Int places =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return _mm512_permutex2var_ps(a, places, b);
}

// Sums of squares in double.
struct Squares {
  __m512d low = _mm512_setzero_pd();
  __m512d high = _mm512_setzero_pd();
};
inline void add_squares(Squares& squares, Vec x) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
  squares.low = _mm512_fmadd_pd(low, low, squares.low);
  squares.high = _mm512_fmadd_pd(high, high, squares.high);
}
inline double total(const Squares& squares) {
  return _mm512_reduce_add_pd(_mm512_add_pd(squares.low, squares.high));
}

// Philox: both halves of x * factor, and helpers.
struct Halves {
  Int low;
  Int high;
};
inline Halves multiply(Int x, uint32_t factor) {
  const Int f = set_int(factor);
  const Int even = _mm512_mul_epu32(x, f);
  const Int odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), f);
  return {_mm512_mask_mov_epi32(even, 0xAAAA, _mm512_slli_epi64(odd, 32)),
          _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xAAAA, odd)};
}
inline Int exclusive_or(Int a, Int b, Int c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
inline Int lane_numbers() {
  return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
inline Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
// One bit per lane: whether the low or high half is at least `threshold`.
inline uint32_t low_at_least(Int x, Int threshold) {
  return _mm512_cmpge_epu32_mask(_mm512_and_si512(x, set_int(0xFFFF)), threshold);
}
inline uint32_t high_at_least(Int x, Int threshold) {
  return _mm512_cmpge_epu32_mask(_mm512_srli_epi32(x, 16), threshold);
}

inline Int load(const int32_t* p) { return _mm512_loadu_si512(p); }
inline Vec to_float(Int x) { return _mm512_cvtepi32_ps(x); }

#if defined(__AVX512VNNI__)
// Products of int8: four unsigned and signed integers of 8 bits, and the sums of their products in
// 32 bits.
using Int8Value = uint8_t;
inline constexpr int32_t kInt8Offset = 128;
inline Int load_int8(const int8_t* p) { return _mm512_loadu_si512(p); }
inline Int add_products(Int sums, Int a, Int b) { return _mm512_dpbusd_epi32(sums, a, b); }
// The lowest bits of the lanes.
inline void store_int8(Int8Value* p, Vec x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_castps_si512(x)));
}
#else
// Products of int8: pairs of 16-bit integers and the sums of their products in 32 bits.
using Int8Value = int16_t;
inline constexpr int32_t kInt8Offset = 0;
inline Int load_int8(const int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Int add_products(Int sums, Int a, Int b) {
  return _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
}
// The lowest bits of the lanes.
inline void store_int8(Int8Value* p, Vec x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_castps_si512(x)));
}
#endif

}  // namespace weft::kernels::cpu::WEFT_LEVEL
