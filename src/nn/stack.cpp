#include "nn/stack.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "base/random.h"
#include "nn/activation_hook.h"
#include "nn/attention/attention_parts.h"
#include "nn/auxiliary_losses.h"
#include "nn/block_hook.h"
#include "nn/recompute.h"

namespace weft::nn {

namespace {

BlockOptions block_of_layer(const StackOptions& options, std::size_t layer) {
  auto block = options.layers[layer];
  const auto last = options.layers.size() - 1;
  const auto rate = options.stochastic_depth.drop_path_rate;
  block.drop_path_rate = last == 0 || options.stochastic_depth.is_constant
                             ? rate
                             : rate * (static_cast<double>(layer) / static_cast<double>(last));
  block.layer = options.first_layer + static_cast<int64_t>(layer);
  const auto rotary = rotary_of(options.positions, block.attention.is_local);
  block.attention.rotary = rotary.theta > 0 ? rotary : block.attention.rotary;
  block.attention.has_distance_bias |= std::ranges::any_of(
      options.positions, [](const auto& position) { return position->bias != nullptr; });
  for (const auto& position : options.positions) {
    if (position->distances != nullptr) {
      const auto& scores = position->distance_scores;
      TORCH_CHECK(!block.attention.distance_scores, "a stack has only one table of distances");
      const int terms =
          1 + (scores.content_to_position ? 1 : 0) + (scores.position_to_content ? 1 : 0);
      block.attention.scale = score_scale(block.attention) / std::sqrt(terms);
      block.attention.distance_scores = scores;
    }
    if (position->modifier) {
      block.attention.position_modifiers.push_back(position->modifier);
    }
  }
  return block;
}

bool has_dropout(const BlockOptions& block) {
  return block.dropout > 0 || block.attention.dropout > 0 || block.cross_attention.dropout > 0 ||
         block.feed_forward.dropout > 0 || block.feed_forward_dropout.value_or(0) > 0;
}

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
  const bool has_table = context.distance_table.vectors.defined();
  if (has_table) {
    inputs.push_back(context.distance_table.vectors);
  }
  // Auxiliary losses are outputs too: only so do they get a gradient.
  const auto losses = std::make_shared<std::vector<AuxiliaryLoss>>();
  const auto outputs = recompute(inputs, block, [=](const std::vector<at::Tensor>& again) {
    auto inner = context;
    auto states = encoder_states;
    auto next = again.begin() + 1;
    if (states) {
      states->states = *next++;
      inner.encoder_states = &*states;
    }
    if (has_bias) {
      inner.distance_bias = *next++;
    }
    if (has_table) {
      inner.distance_table.vectors = *next;
    }
    AuxiliaryLosses collected;
    inner.auxiliary_losses = context.auxiliary_losses == nullptr ? nullptr : &collected;
    std::vector<at::Tensor> result{run(again[0], inner)};
    *losses = collected.all();
    for (auto& loss : *losses) {
      result.push_back(std::exchange(loss.sum, {}));
    }
    return result;
  });
  for (std::size_t i = 0; i < losses->size(); ++i) {
    auto loss = (*losses)[i];
    loss.sum = outputs[i + 1];
    context.auxiliary_losses->add(std::move(loss));
  }
  return outputs[0];
}

/// No recomputation while attention is recorded, so that each block runs once.
at::Tensor run_or_recompute(const Block& block,
                            const BlockFunction& run,
                            const at::Tensor& x,
                            const ForwardContext& context) {
  if (!context.recomputes_layers || !at::GradMode::is_enabled() ||
      context.attention_recorder != nullptr) {
    return run(x, context);
  }
  return recompute_block(block, run, x, context);
}

at::Tensor run_block(const Block& block,
                     const BlockFunction& run,
                     const at::Tensor& x,
                     const ForwardContext& context) {
  auto* const hook = BlockHook::current();
  if (hook == nullptr) {
    return run_or_recompute(block, run, x, context);
  }
  call_after_backward(*hook, block, x);
  return run_or_recompute(block, with_hook(*hook, block, run), x, context);
}

}  // namespace

StackImpl::StackImpl(const StackOptions& options)
    : first_layer_(options.first_layer),
      layerdrop_(options.stochastic_depth.layerdrop),
      has_dropout_(std::ranges::any_of(options.layers, has_dropout)) {
  const auto layers = options.layers.size();
  const auto groups =
      options.layer_groups > 0 ? static_cast<std::size_t>(options.layer_groups) : layers;
  TORCH_CHECK(groups <= layers, groups, " groups of ", layers, " layers");
  for (const auto& position : options.positions) {
    if (position->distances != nullptr) {
      distances_ = register_module("distances", position->distances);
    }
  }
  std::vector<std::size_t> first_layers;  // of the blocks
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const auto block = options.cycles_layers ? layer % groups : layer * groups / layers;
    if (block == first_layers.size()) {
      first_layers.push_back(layer);
      blocks_.push_back(
          register_module(std::to_string(block), make_block(block_of_layer(options, layer))));
    } else {
      blocks_.push_back(blocks_[first_layers[block]]);
    }
    shifts_.push_back(static_cast<int64_t>(layer - first_layers[block]));
  }
  for (const auto& position : options.positions) {
    if (position->bias != nullptr) {
      biases_.push_back(register_module(numbered("relative_bias", biases_.size()), position->bias));
    }
  }
  if (options.step_embedding) {
    step_embedding_ = register_module(
        "step_embedding", StepEmbedding(*options.step_embedding, static_cast<int64_t>(layers),
                                        options.layers.front().dim()));
  }
  if (options.halting) {
    halting_ = register_module("halting", Halting(options.layers.front().dim(), *options.halting));
  }
  if (options.norm) {
    norm_ = register_module("norm", make_norm(*options.norm));
  }
}

ForwardContext StackImpl::with_shared_scores(const ForwardContext& context,
                                             const at::Device& device) const {
  auto result = context;
  result.score_chain = std::make_shared<ScoreChain>();
  const auto& layout = context.layout;
  const auto longest = std::max({int64_t{1}, layout.max_length, layout.position_limit});
  if (distances_ != nullptr) {
    result.distance_table = distances_->forward(longest);
  }
  for (const auto& bias : biases_) {
    const auto own = bias->forward(longest, device);  // (H, 2 L - 1)
    result.distance_bias = result.distance_bias.defined() ? result.distance_bias + own : own;
  }
  return result;
}

bool StackImpl::is_dropped(std::size_t layer, const ForwardContext& context) const {
  const auto index = static_cast<uint64_t>(first_layer_) + layer;
  return context.rate(layerdrop_) > 0 &&
         Random(context.seed, RandomPurpose::kLayerDrop, context.step, index).uniform_double() <
             layerdrop_;
}

ForwardContext StackImpl::at_layer(std::size_t layer, const ForwardContext& context) const {
  auto result = context;
  result.layer_shift = shifts_[layer];
  return result;
}

at::Tensor StackImpl::forward_layer(std::size_t layer,
                                    const at::Tensor& x,
                                    const ForwardContext& shared,
                                    const RowSelection* selection) {
  if (is_dropped(layer, shared)) {
    return selection == nullptr ? x : selection->select(x);
  }
  const auto block = blocks_[layer];
  BlockFunction run = [block](const at::Tensor& in, const ForwardContext& own) {
    return block->forward(in, own);
  };
  if (selection != nullptr) {
    run = [block, rows = *selection](const at::Tensor& in, const ForwardContext& own) {
      return block->forward_selected(in, own, rows);
    };
  }
  return ActivationHook::run_hooks(
      layer, run_block(*block, run, layer_input(layer, x, shared), at_layer(layer, shared)));
}

at::Tensor StackImpl::layer_input(std::size_t layer,
                                  const at::Tensor& x,
                                  const ForwardContext& context) {
  return step_embedding_ ? step_embedding_->forward(x, layer, context) : x;
}

// Dropout is keyed by token only if all tokens are computed. Ranks that share the layers'
// parameters must run the same layers, and a KV cache needs all of them.
at::Tensor StackImpl::forward_halting(const at::Tensor& x, const ForwardContext& shared) {
  const bool runs_all = shared.decoding_state != nullptr || BlockHook::current() != nullptr;
  const bool drops = shared.is_training && has_dropout_;
  return halting_->forward(
      x, shared,
      {.layers = blocks_.size(), .skips_tokens = !runs_all && !drops, .skips_layers = !runs_all},
      [&](std::size_t layer, const at::Tensor& states, const RowSelection* selection) {
        return forward_layer(layer, states, shared, selection);
      });
}

at::Tensor StackImpl::forward_first(std::size_t count,
                                    const at::Tensor& x,
                                    const ForwardContext& context) {
  auto stream = ActivationHook::run_hooks("embeddings", x);
  for (std::size_t layer = 0; layer < count; ++layer) {
    stream = forward_layer(layer, stream, context);
  }
  return stream;
}

at::Tensor StackImpl::forward(const at::Tensor& x, const ForwardContext& given) {
  const auto shared = with_shared_scores(given, x.device());
  return final_norm(halting_ ? forward_halting(x, shared)
                             : forward_first(blocks_.size(), x, shared));
}

at::Tensor StackImpl::forward_selected(const at::Tensor& x,
                                       const ForwardContext& given,
                                       const RowSelection& selection) {
  if (blocks_.empty() || halting_ || selection.index.size(0) == 0) {
    return selection.select(forward(x, given));
  }
  const auto context = with_shared_scores(given, x.device());
  const auto last = blocks_.size() - 1;
  return final_norm(forward_layer(last, forward_first(last, x, context), context, &selection));
}

at::Tensor StackImpl::final_norm(const at::Tensor& stream) const {
  return norm_ ? norm_->forward(stream) : stream;
}

}  // namespace weft::nn
