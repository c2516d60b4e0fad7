#include "nn/stack.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "base/random.h"
#include "base/string_util.h"
#include "config/section.h"
#include "nn/activation_hook.h"
#include "nn/attention/attention_parts.h"
#include "nn/attention/memory/slot_memory.h"
#include "nn/block_hook.h"
#include "nn/layer_run.h"

namespace weft::nn {

namespace {

bool has_dropout(const BlockOptions& block) {
  return block.dropout > 0 || block.attention.dropout > 0 || block.cross_attention.dropout > 0 ||
         block.feed_forward.dropout > 0 || block.feed_forward_dropout.value_or(0) > 0;
}

/// Whether the sub-layers only add to their input.
bool is_invertible(const BlockOptions& block) {
  return !block.is_parallel && block.norm_placement != NormPlacement::kPost &&
         (!block.make_residual_scale || keeps_input(block.make_residual_scale)) &&
         std::ranges::none_of(block.order, [](char letter) {
           const auto* const kind = find_sublayer(letter);
           return kind == nullptr || kind->replaces_stream || kind->carries_state;
         });
}

/// The states (M, K D) of K layers.
std::shared_ptr<const std::vector<EncoderStates>> states_by_layer(const EncoderStates& all,
                                                                  std::size_t layers) {
  auto result = std::make_shared<std::vector<EncoderStates>>();
  for (const auto& states : all.states.chunk(static_cast<int64_t>(layers), 1)) {
    result->push_back({.states = states.contiguous(), .layout = all.layout});
  }
  TORCH_CHECK(result->size() == layers, "encoder states of width ", all.states.size(1), " for ",
              layers, " layers");
  return result;
}

}  // namespace

StackImpl::StackImpl(const StackOptions& options)
    : first_layer_(options.first_layer),
      layerdrop_(options.stochastic_depth.layerdrop),
      has_dropout_(std::ranges::any_of(options.layers, has_dropout)),
      reversible_(options.reversible),
      has_encoder_mix_(options.has_encoder_mix),
      shortens_sequences_(std::ranges::any_of(options.layers, [](const BlockOptions& layer) {
        return nn::shortens_sequences(layer.order);
      })) {
  if (shortens_sequences_ && !options.may_shorten) {
    throw config::Error(
        str_cat("model.block: only classifiers of whole texts by an encoder, without early_exit, "
                "can have ",
                list_sublayers(&SublayerDefinition::shortens_sequences),
                ": others need a state of each token"));
  }
  TORCH_CHECK(!shortens_sequences_ || (!options.halting && !options.mix),
              "halting and a mix of layers need layers that return as many rows as they read");
  TORCH_CHECK(!reversible_ || (!options.halting && !options.step_embedding && !options.mix &&
                               std::ranges::all_of(options.layers, is_invertible)),
              "layers of this kind are not reversible");
  const auto layers = options.layers.size();
  for (const auto& position : options.positions) {
    if (position->distances != nullptr) {
      distances_ = register_module("distances", position->distances);
    }
  }
  const auto made = make_blocks(options);
  for (std::size_t i = 0; i < made.distinct.size(); ++i) {
    register_module(std::to_string(i), made.distinct[i]);
  }
  const auto& owners = made.owners;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    blocks_.push_back(made.distinct[owners[layer]]);
    const auto first = std::ranges::find(owners, owners[layer]) - owners.begin();
    shifts_.push_back(static_cast<int64_t>(layer) - first);
  }
  has_one_width_ = made.has_one_width;
  span_nodes_ = span_nodes_of(blocks_);
  if (has_span_nodes() && options.halting) {
    throw config::Error("model.halting: is not possible with attention of type binary_tree");
  }
  if (!has_one_width_ && (options.halting || options.step_embedding || options.mix)) {
    throw config::Error(str_cat("model.",
                                options.halting          ? "halting"
                                : options.step_embedding ? "step_embedding"
                                                         : "mix",
                                ": is not possible with layers of different widths"));
  }
  memory_ = slot_memory_of(blocks_);
  if (memory_ != nullptr) {
    if (options.mix || has_span_nodes() || shortens_sequences_) {
      throw config::Error(str_cat(options.mix ? "model.mix: is"
                                  : has_span_nodes()
                                      ? "model.attention: binary_tree is"
                                      : "model.block: sub-layers that shorten texts are",
                                  " not possible with sub-layers that read memory slots"));
    }
    register_module("memory", memory_);
  }
  for (const auto& position : options.positions) {
    if (position->bias != nullptr) {
      biases_.push_back(register_module(numbered("relative_bias", biases_.size()), position->bias));
    }
  }
  for (const auto& position : options.positions) {
    if (position->shared != nullptr) {
      shared_positions_.push_back(register_module(
          numbered("shared_positions", shared_positions_.size()), position->shared));
    }
  }
  if (options.input_convolution) {
    const auto* const other = options.halting       ? "halting"
                              : reversible_         ? "reversible layers"
                              : memory_ != nullptr  ? "sub-layers that read memory slots"
                              : has_span_nodes()    ? "attention of type binary_tree"
                              : shortens_sequences_ ? "sub-layers that shorten texts"
                              : !has_one_width_     ? "layers of different widths"
                                                    : nullptr;
    if (other != nullptr) {
      throw config::Error(str_cat("model.input_convolution: is not possible with ", other));
    }
    const auto& first = options.layers.at(0);
    input_convolution_ = register_module(
        "input_convolution",
        std::make_shared<InputConvolution>(*options.input_convolution, first.norm, first.dropout));
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
  if (options.mix) {
    TORCH_CHECK(!options.halting, "a mix of layers and halting do not go together");
    mix_ = register_module("mix", LayerMix(static_cast<int64_t>(layers) + 1, *options.mix));
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
  for (const auto& positions : shared_positions_) {
    result.position_tensors.merge(positions->forward(longest, device));
  }
  if (has_encoder_mix_ && context.encoder_states != nullptr) {
    result.encoder_states_by_layer = states_by_layer(*context.encoder_states, blocks_.size());
  }
  return result;
}

ForwardContext StackImpl::context_after_layer(std::size_t layer,
                                              const ForwardContext& context) const {
  return is_dropped(layer, context) ? context : blocks_[layer]->context_after(context);
}

ForwardContext StackImpl::context_before(std::size_t layer, ForwardContext context) const {
  for (std::size_t i = 0; shortens_sequences_ && i < layer; ++i) {
    context = context_after_layer(i, context);
  }
  return context;
}

ForwardContext StackImpl::context_after(const ForwardContext& context) const {
  return context_before(blocks_.size(), context);
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
  if (context.encoder_states_by_layer != nullptr) {
    result.encoder_states = &(*context.encoder_states_by_layer)[layer];
  }
  return result;
}

at::Tensor StackImpl::forward_layer(std::size_t layer,
                                    const at::Tensor& x,
                                    const ForwardContext& shared,
                                    const RowSelection* selection) {
  if (is_dropped(layer, shared)) {
    const auto kept = selection == nullptr ? x
                      : reversible_        ? select_streams(x, *selection)
                                           : selection->select(x);
    return layer_output(layer, x, kept, shared, selection);
  }
  const auto run = reversible_ ? run_reversible_layer : run_layer;
  const auto states =
      run(blocks_[layer], layer_input(layer, x, shared), at_layer(layer, shared), selection);
  return ActivationHook::run_hooks(layer, layer_output(layer, x, states, shared, selection));
}

at::Tensor StackImpl::layer_output(std::size_t layer,
                                   const at::Tensor& x,
                                   const at::Tensor& states,
                                   const ForwardContext& shared,
                                   const RowSelection* selection) const {
  return layer == 0 && input_convolution_ != nullptr
             ? input_convolution_->forward(x, states, shared, selection)
             : states;
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
                                    const ForwardContext& given) {
  auto stream = ActivationHook::run_hooks("embeddings", x);
  auto context = given;
  for (std::size_t layer = 0; layer < count; ++layer) {
    stream = forward_layer(layer, stream, context);
    if (shortens_sequences_) {
      context = context_after_layer(layer, context);
    }
  }
  return stream;
}

ForwardContext StackImpl::begin(const at::Tensor& x, const ForwardContext& given) const {
  auto result = with_shared_scores(given, x.device());
  if (reversible_) {
    result.reversible_pass =
        std::make_shared<ReversiblePass>(ReversiblePass{.compute_type = x.scalar_type()});
  }
  return result;
}

at::Tensor StackImpl::opened(const at::Tensor& x) const {
  return reversible_ ? duplicate_stream(x) : x;
}

at::Tensor StackImpl::closed(const at::Tensor& states, at::ScalarType type) const {
  return reversible_ ? merge_streams(states, *reversible_, type) : states;
}

at::Tensor StackImpl::forward_mix(const at::Tensor& x,
                                  const ForwardContext& shared,
                                  const RowSelection* selection) {
  std::vector<at::Tensor> states;  // of the embeddings and of each layer
  auto stream = ActivationHook::run_hooks("embeddings", x);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    states.push_back(selection == nullptr ? stream : selection->select(stream));
    const bool is_last = layer + 1 == blocks_.size();
    stream = forward_layer(layer, stream, shared, is_last ? selection : nullptr);
  }
  states.push_back(final_norm(stream));
  return mix_->forward(states, shared);
}

at::Tensor StackImpl::forward(const at::Tensor& x, const ForwardContext& context) {
  if (memory_ != nullptr) {
    return run_by_segments(
        *memory_, *this,
        [this](const at::Tensor& rows, const ForwardContext& own) {
          return forward_rows(rows, own);
        },
        x, context);
  }
  if (!has_span_nodes()) {
    return forward_rows(x, context);
  }
  const auto nodes = add_span_nodes(span_nodes_, x, context);
  return forward_rows(nodes.rows, nodes.context).index_select(0, nodes.tokens);
}

at::Tensor StackImpl::forward_rows(const at::Tensor& x, const ForwardContext& given) {
  const auto shared = begin(x, given);
  if (mix_) {
    return forward_mix(x, shared, nullptr);
  }
  const auto states =
      halting_ ? forward_halting(x, shared) : forward_first(blocks_.size(), opened(x), shared);
  return final_norm(closed(states, x.scalar_type()));
}

at::Tensor StackImpl::forward_selected(const at::Tensor& x,
                                       const ForwardContext& given,
                                       const RowSelection& selection) {
  if (blocks_.empty() || halting_ || has_span_nodes() || memory_ != nullptr ||
      selection.index.size(0) == 0) {
    return selection.select(forward(x, given));
  }
  const auto context = begin(x, given);
  if (mix_) {
    return forward_mix(x, context, &selection);
  }
  const auto last = blocks_.size() - 1;
  const auto states = forward_layer(last, forward_first(last, opened(x), context),
                                    context_before(last, context), &selection);
  return final_norm(closed(states, x.scalar_type()));
}

at::Tensor StackImpl::final_norm(const at::Tensor& stream) const {
  return norm_ ? norm_->forward(stream) : stream;
}

}  // namespace weft::nn
