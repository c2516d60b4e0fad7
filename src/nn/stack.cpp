#include "nn/stack.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "nn/activation_hook.h"
#include "nn/recompute.h"

namespace weft::nn {

namespace {

BlockOptions block_of_layer(const StackOptions& options, int64_t layer) {
  auto block = options.block;
  if (!options.attention.empty()) {
    block.attention = options.attention[static_cast<std::size_t>(layer)];
  }
  block.has_attention_norm = layer > 0 || options.has_first_norm;
  if (options.layers > 1) {
    block.drop_path_rate *= static_cast<double>(layer) / static_cast<double>(options.layers - 1);
  }
  block.layer = options.first_layer + layer;
  block.attention.layer = block.layer;
  block.cross_attention.layer = block.layer;
  block.feed_forward.layer = block.layer;
  return block;
}

/// forward() or forward_selected() of a block.
using BlockFunction = std::function<at::Tensor(const at::Tensor& x, const ForwardContext& context)>;

/// Runs the block again in the backward pass. Tensors computed elsewhere that the block reads are
/// passed as inputs too, so that they get gradients.
at::Tensor recompute_block(const Block& block,
                           const BlockFunction& run,
                           const at::Tensor& x,
                           const ForwardContext& context) {
  std::vector<at::Tensor> inputs{x};
  std::optional<EncoderStates> encoder_states;  // a copy: the context's may no longer exist then
  if (context.encoder_states != nullptr) {
    encoder_states = *context.encoder_states;
    inputs.push_back(encoder_states->states);
  }
  const bool has_bias = context.distance_bias.defined();
  if (has_bias) {
    inputs.push_back(context.distance_bias);
  }
  return recompute(inputs, block, [=](const std::vector<at::Tensor>& again) {
    auto inner = context;
    auto states = encoder_states;
    if (states) {
      states->states = again[1];
      inner.encoder_states = &*states;
    }
    if (has_bias) {
      inner.distance_bias = again.back();
    }
    return run(again[0], inner);
  });
}

/// No recomputation while attention is recorded, so that each block runs once.
at::Tensor run_block(const Block& block,
                     const BlockFunction& run,
                     const at::Tensor& x,
                     const ForwardContext& context) {
  if (!context.recomputes_layers || !at::GradMode::is_enabled() ||
      context.attention_recorder != nullptr) {
    return run(x, context);
  }
  return recompute_block(block, run, x, context);
}

}  // namespace

Stack::Stack(const StackOptions& options) {
  const auto layers = static_cast<std::size_t>(options.layers);
  TORCH_CHECK(options.attention.empty() || options.attention.size() == layers, "attention of ",
              options.attention.size(), " layers for a stack of ", layers);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    blocks_.push_back(
        register_module(std::to_string(layer), make_block(block_of_layer(options, layer))));
  }
  if (options.relative.buckets > 0) {
    relative_bias_ =
        register_module("relative_bias", std::make_shared<RelativeBias>(options.relative));
  }
  if (options.block.norm_placement == NormPlacement::kPre && options.has_final_norm) {
    norm_ = register_module("norm", make_norm(options.block.norm));
  }
}

ForwardContext Stack::with_distance_bias(const ForwardContext& context) const {
  auto result = context;
  if (relative_bias_) {
    result.distance_bias =
        relative_bias_->forward(std::max<int64_t>(1, context.layout.position_limit));
  }
  return result;
}

at::Tensor Stack::forward_first(std::size_t count,
                                const at::Tensor& x,
                                const ForwardContext& context) const {
  auto stream = ActivationHook::run_hooks("embeddings", x);
  for (std::size_t layer = 0; layer < count; ++layer) {
    const auto block = blocks_[layer];
    const auto run = [block](const at::Tensor& in, const ForwardContext& own) {
      return block->forward(in, own);
    };
    stream = ActivationHook::run_hooks(layer, run_block(*block, run, stream, context));
  }
  return stream;
}

at::Tensor Stack::forward(const at::Tensor& x, const ForwardContext& given) {
  return final_norm(forward_first(blocks_.size(), x, with_distance_bias(given)));
}

at::Tensor Stack::forward_selected(const at::Tensor& x,
                                   const ForwardContext& given,
                                   const RowSelection& selection) {
  if (blocks_.empty() || selection.index.size(0) == 0) {
    return selection.select(forward(x, given));
  }
  const auto context = with_distance_bias(given);
  const auto last = blocks_.size() - 1;
  const auto block = blocks_[last];
  const auto run = [block, selection](const at::Tensor& in, const ForwardContext& own) {
    return block->forward_selected(in, own, selection);
  };
  const auto stream = run_block(*block, run, forward_first(last, x, context), context);
  return final_norm(ActivationHook::run_hooks(last, stream));
}

at::Tensor Stack::final_norm(const at::Tensor& stream) const {
  return norm_ ? norm_->forward(stream) : stream;
}

}  // namespace weft::nn
