#pragma once

#include <ATen/ATen.h>

namespace weft::test {

/// Tensor `number` of references whose input and parameters are not stored
/// (scripts/make_small_attention_reference.py).
inline at::Tensor formula_values(int64_t number, at::IntArrayRef shape) {
  int64_t count = 1;
  for (const auto size : shape) {
    count *= size;
  }
  const auto squares = at::arange(count, at::kLong).square().remainder(1009);
  return (squares.to(at::kDouble) * 0.7 + number).cos().mul(0.5).view(shape).to(at::kFloat);
}

}  // namespace weft::test
