#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "nn/auxiliary_losses.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// The context of a block that runs again in the backward pass. It outlives the forward pass, and
/// tensors computed elsewhere that the block reads can be replaced, so that they get gradients.
class BlockContext {
 public:
  explicit BlockContext(const ForwardContext& context);

  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  /// Valid as long as this object, until the next call. `tensors`: in place of tensors(), as many.
  /// `losses`: receives the auxiliary losses, if the pass collects any.
  ForwardContext with(const at::Tensor* tensors, AuxiliaryLosses& losses);

 private:
  ForwardContext context_;
  std::optional<EncoderStates> encoder_states_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace weft::nn
