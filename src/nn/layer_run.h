#pragma once

#include <memory>

#include "nn/block.h"
#include "nn/forward_context.h"
#include "nn/row_selection.h"

/// How a stack runs a layer: with the hooks of the pass, and recomputed in the backward pass where
/// the context says so.
namespace weft::nn {

/// Output of the block, or its selected rows.
at::Tensor run_layer(const std::shared_ptr<Block>& block,
                     const at::Tensor& x,
                     const ForwardContext& context,
                     const RowSelection* selection);

/// The same for the streams of a reversible layer.
at::Tensor run_reversible_layer(const std::shared_ptr<Block>& block,
                                const at::Tensor& streams,
                                const ForwardContext& context,
                                const RowSelection* selection);

}  // namespace weft::nn
