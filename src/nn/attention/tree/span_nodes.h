#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/block.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// A sub-layer whose rows are the nodes of trees over the tokens (nn/attention/tree/binary_tree.h).
/// A stack of blocks with such sub-layers adds the spans, which start at zero, and drops them at
/// its end (arXiv:1911.04070, section 3.2).
class UsesSpanNodes {
 public:
  virtual ~UsesSpanNodes() = default;
  /// Whether the nodes are those of CausalBinaryTree.
  virtual bool is_causal() const = 0;
};

/// The nodes between the blocks of a stack.
enum class SpanNodes { kNone, kTree, kCausalTree };

/// Those that the sub-layers of the blocks read. Throws config::Error if only some blocks have such
/// sub-layers, or if others mix the rows as if they were tokens.
SpanNodes span_nodes_of(const std::vector<std::shared_ptr<Block>>& blocks);

/// The rows of all nodes, and the context of these rows.
struct SpanRows {
  at::Tensor rows = {};    // (T, D)
  at::Tensor tokens = {};  // (N) int64, the rows that are tokens
  ForwardContext context = {};
};
/// `nodes`: not kNone. In generation the context has a state of these rows, with which a pass adds
/// those that its tokens complete.
SpanRows add_span_nodes(SpanNodes nodes, const at::Tensor& x, const ForwardContext& context);

}  // namespace weft::nn
