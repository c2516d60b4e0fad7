#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/forward_context.h"

namespace weft::nn {

/// Some sequences of a packed batch as a batch of their own, so that layers skip the others.
struct SequenceSelection {
  at::Tensor rows;                                        // (M) int64 of the N tokens
  ForwardContext context;                                 // of the selected sequences
  std::shared_ptr<const EncoderStates> encoder_states{};  // that `context` refers to

  /// The sequences with these indices, which increase. Random keys are left as they are.
  static SequenceSelection of(const std::vector<int64_t>& sequences, const ForwardContext& context);

  at::Tensor select(const at::Tensor& x) const;  // (N, D) -> (M, D)
  /// Zeros for the tokens of the other sequences: (M, D) -> (N, D).
  at::Tensor scatter(const at::Tensor& selected, int64_t tokens) const;
};

}  // namespace weft::nn
