#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "nn/block.h"
#include "nn/forward_context.h"
#include "nn/row_selection.h"

/// How a stack runs a layer: with the hooks of the pass, and recomputed in the backward pass where
/// the context says so.
namespace weft::nn {

/// nn::recompute of a function that adds auxiliary losses, which `receiver` gets; null: there are
/// none.
using FunctionWithLosses = std::function<std::vector<at::Tensor>(
    const std::vector<at::Tensor>& inputs, AuxiliaryLosses& losses)>;
std::vector<at::Tensor> recompute_with_losses(const std::vector<at::Tensor>& inputs,
                                              const torch::nn::Module& module,
                                              AuxiliaryLosses* receiver,
                                              const FunctionWithLosses& work);

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
