// One vector of four floats in the compiler's own vector types, for any processor. Included only by
// per-level translation units.
#pragma once

#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kLanes = 4;
inline constexpr int kTileVectors = 2;
inline constexpr int kTileRows = 6;
inline constexpr int kTileRowsNarrow = 8;
inline constexpr bool kMultipliesPairs = false;
typedef float Vec __attribute__((vector_size(16)));
typedef uint32_t Int __attribute__((vector_size(16)));
typedef int32_t LaneMask __attribute__((vector_size(16)));

inline Vec set(float x) { return Vec{x, x, x, x}; }
inline Vec zero() { return set(0.0F); }
inline Int set_int(uint32_t x) { return Int{x, x, x, x}; }

template <class To, class From>
inline To bit_cast(From x) {
  To result;
  __builtin_memcpy(&result, &x, sizeof(result));
  return result;
}

inline Vec load(const float* p) {
  Vec x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
inline Vec load(const Bf16* p) {
  const Int bits = {p[0].bits, p[1].bits, p[2].bits, p[3].bits};
  return bit_cast<Vec>(bits << 16U);
}
inline void store(float* p, Vec x) { __builtin_memcpy(p, &x, sizeof(x)); }
// Rounds to nearest, ties to even; NaN stays NaN.
inline void store(Bf16* p, Vec x) {
  const Int bits = bit_cast<Int>(x);
  const Int rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  const Int is_nan = bit_cast<Int>(x != x);
  const Int safe = ((rounded & ~is_nan) | ((bits | 0x400000U) & is_nan)) >> 16U;
  for (int i = 0; i < kLanes; ++i) {
    p[i].bits = static_cast<uint16_t>(safe[i]);
  }
}

inline Vec blend(LaneMask truth, Vec yes, Vec no) {
  const Int mask = bit_cast<Int>(truth);
  return bit_cast<Vec>((bit_cast<Int>(yes) & mask) | (bit_cast<Int>(no) & ~mask));
}
inline Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
inline Vec maximum(Vec a, Vec b) { return blend(a > b, a, b); }
// The larger of two numbers that are not negative; NaN if one of them is.
inline Vec maximum_or_nan(Vec a, Vec b) { return blend(bit_cast<Int>(a) > bit_cast<Int>(b), a, b); }
inline Vec minimum(Vec a, Vec b) { return blend(a < b, a, b); }
inline Vec square_root(Vec x) {
  return Vec{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
             __builtin_sqrtf(x[3])};
}
inline Vec approx_reciprocal(Vec x) { return set(1.0F) / x; }
inline Vec absolute(Vec x) { return bit_cast<Vec>(bit_cast<Int>(x) & 0x7FFFFFFFU); }
inline Vec with_sign_of(Vec x, Vec sign) {
  return bit_cast<Vec>(bit_cast<Int>(absolute(x)) | (bit_cast<Int>(sign) & 0x80000000U));
}
inline Vec where_less(Vec a, Vec b, Vec yes, Vec no) { return blend(a < b, yes, no); }
inline Vec keep(Vec x, uint32_t bits) {
  const Int lane = {1, 2, 4, 8};
  const Int mask = bit_cast<Int>((set_int(bits) & lane) == lane);
  return bit_cast<Vec>(bit_cast<Int>(x) & mask);
}
inline Vec power_from_bits(Vec magic) {
  return bit_cast<Vec>((bit_cast<Int>(magic) << 23U) + 0x3F800000U);
}
inline Vec either_bits(Vec a, Vec b) { return bit_cast<Vec>(bit_cast<Int>(a) | bit_cast<Int>(b)); }
inline bool has_bits(Vec x) {
  const Int bits = bit_cast<Int>(x);
  return (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
}
inline float sum(Vec x) { return (x[0] + x[2]) + (x[1] + x[3]); }
inline float largest(Vec x) {
  const float a = x[0] > x[1] ? x[0] : x[1];
  const float b = x[2] > x[3] ? x[2] : x[3];
  return a > b ? a : b;
}

inline Vec zip_low(Vec a, Vec b) { return Vec{a[0], b[0], a[1], b[1]}; }
inline Vec zip_high(Vec a, Vec b) { return Vec{a[2], b[2], a[3], b[3]}; }

struct Squares {
  double lanes[kLanes] = {};
};
inline void add_squares(Squares& squares, Vec x) {
  for (int i = 0; i < kLanes; ++i) {
    squares.lanes[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
}
inline double total(const Squares& squares) {
  return (squares.lanes[0] + squares.lanes[1]) + (squares.lanes[2] + squares.lanes[3]);
}

struct Halves {
  Int low;
  Int high;
};
inline Halves multiply(Int x, uint32_t factor) {
  Halves halves{};
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t product = static_cast<uint64_t>(x[i]) * factor;
    halves.low[i] = static_cast<uint32_t>(product);
    halves.high[i] = static_cast<uint32_t>(product >> 32U);
  }
  return halves;
}
inline Int exclusive_or(Int a, Int b, Int c) { return a ^ b ^ c; }
inline Int lane_numbers() { return Int{0, 1, 2, 3}; }
inline Int add(Int a, Int b) { return a + b; }
inline uint32_t at_least(Int x, Int threshold) {
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) {
    bits |= static_cast<uint32_t>(x[i] >= threshold[i]) << static_cast<unsigned>(i);
  }
  return bits;
}
inline uint32_t low_at_least(Int x, Int threshold) { return at_least(x & 0xFFFFU, threshold); }
inline uint32_t high_at_least(Int x, Int threshold) { return at_least(x >> 16U, threshold); }

// Products of int8: pairs of 16-bit integers and the sums of their products in 32 bits.
using Int8Value = int16_t;
inline constexpr int32_t kInt8Offset = 0;
inline Int load_int8(const int8_t* p) {
  const int16_t words[2 * kLanes] = {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
  Int x;
  __builtin_memcpy(&x, words, sizeof(x));
  return x;
}
inline Int add_products(Int sums, Int a, Int b) {
  int16_t x[2 * kLanes];
  int16_t y[2 * kLanes];
  __builtin_memcpy(x, &a, sizeof(x));
  __builtin_memcpy(y, &b, sizeof(y));
  for (int i = 0; i < kLanes; ++i) {
    sums[i] += static_cast<uint32_t>(x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1]);
  }
  return sums;
}
inline Int load(const int32_t* p) {
  Int x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
inline Vec to_float(Int x) {
  Vec result;
  for (int i = 0; i < kLanes; ++i) {
    result[i] = static_cast<float>(static_cast<int32_t>(x[i]));
  }
  return result;
}
// The lowest bits of the lanes.
inline void store_int8(Int8Value* p, Vec x) {
  const Int bits = bit_cast<Int>(x);
  for (int i = 0; i < kLanes; ++i) {
    p[i] = static_cast<int16_t>(static_cast<uint16_t>(bits[i]));
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL

#include "kernels/cpu/partial.h"
