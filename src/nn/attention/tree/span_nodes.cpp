#include "nn/attention/tree/span_nodes.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "config/section.h"
#include "kernels/to_device.h"
#include "nn/attention/tree/binary_tree.h"
#include "nn/decoding_state.h"
#include "nn/forward_context.h"

namespace weft::nn {

namespace {

bool is_for_spans(const torch::nn::Module& module) {
  return dynamic_cast<const UsesSpanNodes*>(&module) != nullptr;
}

SpanNodes nodes_of(const std::shared_ptr<Block>& block) {
  for (const auto& module : block->modules(/*include_self=*/false)) {
    if (const auto* const spans = dynamic_cast<const UsesSpanNodes*>(module.get())) {
      return spans->is_causal() ? SpanNodes::kCausalTree : SpanNodes::kTree;
    }
  }
  return SpanNodes::kNone;
}

/// Whether another sub-layer does.
bool mixes_tokens(const std::shared_ptr<Block>& block) {
  return std::ranges::any_of(block->modules(/*include_self=*/false), [](const auto& module) {
    const auto* const sublayer = dynamic_cast<const Sublayer*>(module.get());
    return sublayer != nullptr && sublayer->mixes_tokens() && !is_for_spans(*module);
  });
}

SpanRows add_tree_nodes(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(context.decoding_state == nullptr, "spans of tokens are for whole texts");
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> tokens;
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    const auto length = context.layout.length(b);
    for (int64_t i = 0; i < length; ++i) {
      tokens.push_back(offsets.back() + i);
    }
    offsets.push_back(offsets.back() + BinaryTree::nodes_over(length));
  }
  SpanRows result{.tokens = kernels::to_device(tokens, x.device()), .context = context};
  result.rows = at::zeros({offsets.back(), x.size(1)}, x.options()).index_copy(0, result.tokens, x);
  result.context.layout = kernels::Layout::from_offsets(std::move(offsets), x.device());
  change_earlier_lengths(result.context, BinaryTree::nodes_over);
  return result;
}

/// The state of the rows in generation.
DecodingState& row_state_of(DecodingState& tokens, const at::Device& device) {
  // Forgotten tokens take their rows with them: those are kept of the sequences, not of tokens.
  auto& marker = tokens.sequence_tensor(0, "spans");
  if (!marker.defined()) {
    marker = at::zeros({tokens.sequences()}, at::TensorOptions().device(device));
  }
  return tokens.segment_state();
}

SpanRows add_causal_nodes(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(context.prefix_lengths.empty(), "causal spans have no prefix that all tokens see");
  auto* const state = context.decoding_state;
  std::vector<int64_t> counts;
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> tokens;
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    const auto before =
        state == nullptr ? 0 : state->previous_lengths()[static_cast<std::size_t>(b)];
    const auto length = before + context.layout.length(b);
    const auto nodes_before = CausalBinaryTree::nodes_over(before);
    for (auto token = before; token < length; ++token) {
      tokens.push_back(offsets.back() + CausalBinaryTree::nodes_over(token) - nodes_before);
    }
    counts.push_back(CausalBinaryTree::nodes_over(length) - nodes_before);
    offsets.push_back(offsets.back() + counts.back());
  }
  SpanRows result{.tokens = kernels::to_device(tokens, x.device()), .context = context};
  result.rows = at::zeros({offsets.back(), x.size(1)}, x.options()).index_copy(0, result.tokens, x);
  if (state == nullptr) {
    result.context.layout = kernels::Layout::from_offsets(std::move(offsets), x.device());
  } else {
    auto& rows = row_state_of(*state, x.device());
    result.context.layout = rows.begin_step(counts, x.device());
    result.context.decoding_state = &rows;
  }
  change_earlier_lengths(result.context, CausalBinaryTree::nodes_over);
  return result;
}

}  // namespace

SpanNodes span_nodes_of(const std::vector<std::shared_ptr<Block>>& blocks) {
  auto nodes = SpanNodes::kNone;
  int64_t count = 0;
  for (const auto& block : blocks) {
    if (const auto own = nodes_of(block); own != SpanNodes::kNone) {
      nodes = own;
      ++count;
    }
  }
  if (count == 0) {
    return nodes;
  }
  if (count < std::ssize(blocks)) {
    throw config::Error("model.attention: binary_tree must be the type of all layers");
  }
  if (std::ranges::any_of(blocks, mixes_tokens)) {
    throw config::Error(
        "model.attention: binary_tree adds spans to the tokens, which other sub-layers that mix "
        "tokens (recurrent, convolution, experts with a loss) would read as tokens");
  }
  return nodes;
}

SpanRows add_span_nodes(SpanNodes nodes, const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(context.earlier_lengths.has_value(), "spans need the lengths of all sequences");
  return nodes == SpanNodes::kCausalTree ? add_causal_nodes(x, context)
                                         : add_tree_nodes(x, context);
}

}  // namespace weft::nn
