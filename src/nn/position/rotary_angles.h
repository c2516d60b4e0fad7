#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/attention/rotary.h"

namespace weft::nn {

/// The table of angles of one kind of rotary positions, made anew when a longer sequence comes.
class RotaryAngles {
 public:
  explicit RotaryAngles(const kernels::RotaryOptions& options) : options_(options) {}

  /// (longest or more, width); undefined where theta is 0, which means no rotary positions.
  const at::Tensor& table(int64_t longest, const at::Device& device);

 private:
  kernels::RotaryOptions options_;
  at::Tensor table_;
};

}  // namespace weft::nn
