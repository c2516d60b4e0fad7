// Elementary functions of a vector. Included only by per-level translation units. The coefficients
// are our own minimax fits.
#pragma once

#include "kernels/cpu/vector.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Adding it rounds to an integer, which ends up in the low bits of the mantissa.
inline constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23

/// 2^x; relative error 1e-7. 0 below 2^-126; NaN is propagated; x up to 127.
inline Vec exp2(Vec x) {
  const Vec bounded = maximum(set(-127.0F), minimum(set(127.0F), x));
  const Vec magic = bounded + set(kMagic);
  const Vec r = bounded - (magic - set(kMagic));  // [-0.5, 0.5]
  Vec y = fma(set(1.5345724e-4F), r, set(1.3399925e-3F));
  y = fma(y, r, set(9.6184892e-3F));
  y = fma(y, r, set(5.5503288e-2F));
  y = fma(y, r, set(2.4022647e-1F));
  y = fma(y, r, set(6.9314721e-1F));
  y = fma(y, r, set(1.0F));
  return y * power_from_bits(magic);
}

/// e^x; relative error 1e-7; NaN is propagated. 0 below -87.7, infinite above 88.3.
inline Vec exp(Vec x) {
  const Vec bounded = maximum(set(-88.0F), minimum(set(89.0F), x));
  const Vec magic = fma(bounded, set(1.44269504F), set(kMagic));
  const Vec n = magic - set(kMagic);
  // ln 2 in two parts, so that the remainder is exact.
  const Vec r = fma(n, set(-1.42860677e-6F), fma(n, set(-0.693145752F), bounded));
  Vec y = fma(set(1.3813060e-3F), r, set(8.3694138e-3F));
  y = fma(y, r, set(4.1668458e-2F));
  y = fma(y, r, set(1.6666515e-1F));
  y = fma(y, r, set(4.9999993e-1F));
  y = fma(y * r, r, r) + set(1.0F);
  return y * power_from_bits(magic);
}

/// Standard normal density e^(-x^2/2) / sqrt(2 pi) and distribution Phi(x).
struct Normal {
  Vec density;
  Vec distribution;
};
inline Normal normal(Vec x) {
  const Vec a = absolute(x);
  const Vec power = exp(a * a * set(-0.5F));
  const Vec t = set(1.0F) / fma(a, set(0.31F), set(1.0F));
  Vec q = fma(set(3.58407088e-2F), t, set(-1.41600326e-1F));
  q = fma(q, t, set(1.55060396e-1F));
  q = fma(q, t, set(-1.48963714e-2F));
  q = fma(q, t, set(1.10106312e-1F));
  q = fma(q, t, set(1.07772283e-1F));
  q = fma(q, t, set(1.24060147e-1F));
  q = fma(q, t, set(1.23656921e-1F));
  const Vec tail = q * t * power;  // Phi(-|x|)
  return {power * set(0.398942280F), where_less(x, zero(), tail, set(1.0F) - tail)};
}

/// Same with relative error 4e-4, a fifth of bf16's rounding error, in two thirds of the time.
inline Normal approx_normal(Vec x) {
  const Vec a = absolute(x);
  const Vec exponent = maximum(set(-127.0F), a * a * set(-0.721347520F));  // -x^2 / 2 * log2 e
  const Vec magic = exponent + set(kMagic);
  const Vec r = exponent - (magic - set(kMagic));
  Vec y = fma(set(5.5007467e-2F), r, set(2.4220867e-1F));
  y = fma(y, r, set(6.9328283e-1F));
  y = fma(y, r, set(1.0F));
  const Vec power = y * power_from_bits(magic);
  const Vec t = approx_reciprocal(fma(a, set(0.37F), set(1.0F)));
  Vec q = fma(set(-8.9639925e-2F), t, set(2.0828170e-1F));
  q = fma(q, t, set(7.7469984e-2F));
  q = fma(q, t, set(1.5694017e-1F));
  q = fma(q, t, set(1.4696803e-1F));
  const Vec tail = q * t * power;
  return {power * set(0.398942280F), where_less(x, zero(), tail, set(1.0F) - tail)};
}

/// 1 / (1 + e^-x), and 1 minus it, computed without cancellation.
struct Sigmoid {
  Vec value;
  Vec rest;
};
inline Sigmoid sigmoid(Vec x) {
  const Vec e = exp(zero() - absolute(x));
  const Vec large = set(1.0F) / (set(1.0F) + e);
  const Vec small = e * large;
  return {where_less(x, zero(), small, large), where_less(x, zero(), large, small)};
}

inline Vec tanh(Vec x) {
  const Vec a = absolute(x);
  const Vec far = set(1.0F) - set(2.0F) / (exp(a + a) + set(1.0F));
  const Vec z = x * x;
  Vec p = fma(set(-5.5150947e-3F), z, set(2.0469362e-2F));
  p = fma(p, z, set(-5.3688007e-2F));
  p = fma(p, z, set(1.3330830e-1F));
  p = fma(p, z, set(-3.3333260e-1F));
  const Vec near = fma(p * z, x, x);
  return where_less(a, set(0.625F), near, with_sign_of(far, x));
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
