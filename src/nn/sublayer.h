#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "nn/forward_context.h"
#include "nn/row_selection.h"

namespace weft::nn {

/// The branch of a residual connection: attention, feed-forward, ... Norm, residual and output
/// dropout belong to the block.
class Sublayer : public torch::nn::Module {
 public:
  /// (N, D) -> (N, D)
  virtual at::Tensor forward(const at::Tensor& x, const ForwardContext& context) = 0;

  /// Whether a row of the output depends on other rows of the input, or an auxiliary loss is a sum
  /// over all of them. Otherwise only the rows that are read are computed.
  virtual bool mixes_tokens() const = 0;

  /// The selected rows of forward(): (N, D) -> (M, D). Override it to skip work for the others.
  virtual at::Tensor forward_selected(const at::Tensor& x,
                                      const ForwardContext& context,
                                      const RowSelection& selection) {
    return mixes_tokens() ? selection.select(forward(x, context))
                          : forward(selection.select(x), selection.select(context));
  }
};

}  // namespace weft::nn
