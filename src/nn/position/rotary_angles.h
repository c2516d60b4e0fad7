#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/attention/rotary.h"

namespace weft::nn {

/// Table of RoPE angles, recomputed when a longer sequence arrives.
class RotaryAngles {
 public:
  explicit RotaryAngles(const kernels::RotaryOptions& options) : options_(options) {}

  /// (longest or more, width); undefined if theta is 0, i.e. without RoPE.
  const at::Tensor& table(int64_t longest, const at::Device& device);

 private:
  kernels::RotaryOptions options_;
  at::Tensor table_;
};

}  // namespace weft::nn
