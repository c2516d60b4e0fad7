#include "nn/attention/tree/span_nodes.h"

#include <algorithm>
#include <vector>

#include <ATen/Functions.h>

#include "config/section.h"
#include "kernels/to_device.h"
#include "nn/attention/tree/binary_tree.h"
#include "nn/forward_context.h"

namespace weft::nn {

namespace {

bool is_for_spans(const torch::nn::Module& module) {
  return dynamic_cast<const UsesSpanNodes*>(&module) != nullptr;
}

bool uses_spans(const std::shared_ptr<Block>& block) {
  return std::ranges::any_of(block->modules(/*include_self=*/false),
                             [](const auto& module) { return is_for_spans(*module); });
}

/// Whether another sub-layer does.
bool mixes_tokens(const std::shared_ptr<Block>& block) {
  return std::ranges::any_of(block->modules(/*include_self=*/false), [](const auto& module) {
    const auto* const sublayer = dynamic_cast<const Sublayer*>(module.get());
    return sublayer != nullptr && sublayer->mixes_tokens() && !is_for_spans(*module);
  });
}

}  // namespace

bool use_span_nodes(const std::vector<std::shared_ptr<Block>>& blocks) {
  const auto count = std::ranges::count_if(blocks, uses_spans);
  if (count == 0) {
    return false;
  }
  if (count < std::ssize(blocks)) {
    throw config::Error("model.attention: binary_tree must be the type of all layers");
  }
  if (std::ranges::any_of(blocks, mixes_tokens)) {
    throw config::Error(
        "model.attention: binary_tree adds spans to the tokens, which other sub-layers that mix "
        "tokens (recurrent, convolution, experts with a loss) would read as tokens");
  }
  return true;
}

SpanRows add_span_nodes(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(context.decoding_state == nullptr, "spans of tokens are for whole texts");
  TORCH_CHECK(context.earlier_lengths.has_value(), "spans need the lengths of all sequences");
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

}  // namespace weft::nn
