#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "nn/forward_context.h"
#include "nn/row_selection.h"

namespace weft::nn {

class Block;

/// How the streams of reversible layers end.
enum class StreamMerge { kMean, kConcatenate };

/// Reversible residual connections (arXiv:1707.04585, equation 6; arXiv:2001.04451, section 3): a
/// layer reads two streams, and each of its sub-layers adds to one of them what it computes from
/// the other, y1 = x1 + f(x2), y2 = x2 + g(y1). Its inputs follow from its outputs, so that the
/// backward pass needs no stored activations. Streams are (2 N, D): the rows of the one, then of
/// the other. They are fp32 in bf16 models, whose rounding would add up with each layer that is
/// inverted.

/// What the layers of one pass have in common.
struct ReversiblePass {
  at::ScalarType compute_type = at::kFloat;  // of the sub-layers
  /// Output of the last layer whose backward pass has not run, and the number of layers up to it.
  at::Tensor first = {};   // (N, D)
  at::Tensor second = {};  // (N, D)
  int64_t layers = 0;
};

/// Two streams that start as the same states: (N, D) -> (2 N, D).
at::Tensor duplicate_stream(const at::Tensor& x);
/// The states of both streams: (2 N, D) -> (N, D) or (N, 2 D), in the given type.
at::Tensor merge_streams(const at::Tensor& streams, StreamMerge merge, at::ScalarType type);

/// The selected rows of both streams: (2 N, D) -> (2 M, D).
at::Tensor select_streams(const at::Tensor& streams, const RowSelection& selection);

/// One layer. (2 N, D) -> (2 N, D)
at::Tensor forward_reversible(const Block& block,
                              const at::Tensor& streams,
                              const ForwardContext& context);
/// The selected rows of its output, (2 N, D) -> (2 M, D); they do not suffice to invert it.
at::Tensor forward_reversible_selected(const Block& block,
                                       const at::Tensor& streams,
                                       const ForwardContext& context,
                                       const RowSelection& selection);

/// forward_reversible() that keeps nothing for its backward pass, which recovers the inputs and
/// computes the layer again. The layers of a pass must be called one after another, each with the
/// output of the one before, and their graph has one backward pass.
at::Tensor invertible_layer(const std::shared_ptr<const Block>& block,
                            const at::Tensor& streams,
                            const ForwardContext& context);

}  // namespace weft::nn
