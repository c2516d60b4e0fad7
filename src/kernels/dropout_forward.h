#pragma once

#include <utility>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/random_bits.h"

namespace weft::kernels {

/// residual (or 0 if undefined) + dropout(x), without autograd. Expects contiguous tensors
/// supported by the vector kernels.
at::Tensor dropout_forward(const at::Tensor& residual,
                           const at::Tensor& x,
                           const DropoutRule& rule,
                           int64_t first_row);

/// Saves a rule in the autograd context, so that the backward pass regenerates the same bits.
inline void save(torch::autograd::AutogradContext& context,
                 const DropoutRule& rule,
                 int64_t first_row) {
  context.saved_data["key"] =
      static_cast<int64_t>((static_cast<uint64_t>(rule.key[1]) << 32U) | rule.key[0]);
  context.saved_data["threshold"] = static_cast<int64_t>(rule.threshold);
  context.saved_data["scale"] = static_cast<double>(rule.scale);
  context.saved_data["first_row"] = first_row;
}

inline std::pair<DropoutRule, int64_t> saved(torch::autograd::AutogradContext& context) {
  const auto key = static_cast<uint64_t>(context.saved_data["key"].toInt());
  return {{.key = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32U)},
           .threshold = static_cast<uint32_t>(context.saved_data["threshold"].toInt()),
           .scale = static_cast<float>(context.saved_data["scale"].toDouble())},
          context.saved_data["first_row"].toInt()};
}

}  // namespace weft::kernels
