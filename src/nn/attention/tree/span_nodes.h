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

/// Whether the blocks have such sub-layers. Throws config::Error if only some have, or if others
/// mix the rows as if they were tokens.
bool use_span_nodes(const std::vector<std::shared_ptr<Block>>& blocks);

/// The rows of all nodes, and the context of these rows.
struct SpanRows {
  at::Tensor rows = {};    // (T, D)
  at::Tensor tokens = {};  // (N) int64, the rows that are tokens
  ForwardContext context = {};
};
/// `block`: one of those that use them. In generation the context has a state of these rows, with
/// which a pass adds those that its tokens complete.
SpanRows add_span_nodes(const Block& block, const at::Tensor& x, const ForwardContext& context);

}  // namespace weft::nn
