#pragma once

#include <algorithm>

#include <ATen/Functions.h>

#include "base/random.h"

namespace weft::nn {

/// Standard normal values in fp64 from the stream.
inline at::Tensor normal_tensor(at::IntArrayRef sizes, Random& random) {
  auto result = at::empty(sizes, at::kDouble);
  auto* const values = result.data_ptr<double>();
  std::generate(values, values + result.numel(), [&] { return random.normal(); });
  return result;
}

}  // namespace weft::nn
