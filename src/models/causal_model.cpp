#include "models/causal_model.h"

#include <cmath>

#include "config/section.h"
#include "kernels/dropout.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"
#include "nn/attention/attention_types.h"
#include "nn/dropout_sites.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

namespace {

nn::EmbeddingsOptions causal_embeddings_of(const ModelOptions& options) {
  return {.vocabulary = options.vocabulary,
          .dim = options.dim,
          .segments = 0,
          .length = position_limit(options),
          .norm = {},
          .dropout = options.embedding_dropout,
          .has_norm = false,
          .make_word = word_embedding_of(options)};
}

nn::AttentionOptions causal_attention_of(const ModelOptions& options, int64_t layer) {
  const auto width = static_cast<double>(head_dim(options));
  return {.dim = options.dim,
          .heads = options.heads,
          .is_causal = true,
          .has_bias = options.biases.attention,
          .key_heads = key_value_heads(options),
          .head_dim = head_dim(options),
          .scale = options.scale_attn_by_inverse_layer_idx
                       ? 1 / (std::sqrt(width) * static_cast<double>(layer + 1))
                       : 0,
          .has_output_bias = options.biases.attention_output,
          .dropout = options.attention_dropout};
}

nn::StackOptions causal_stack_of(const ModelOptions& options) {
  nn::StackOptions stack;
  stack.stochastic_depth = options.stochastic_depth;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const bool has_window = options.window.size > 0 && layer >= options.window.first_layer;
    stack.layers.push_back({.attention = causal_attention_of(options, layer),
                            .make_attention = has_window ? nn::window_attention(options.window.size)
                                                         : nn::make_full_attention,
                            .feed_forward = {.dim = options.dim,
                                             .width = options.width,
                                             .activation = options.activation,
                                             .is_gated = options.is_gated,
                                             .has_bias = options.biases.feed_forward},
                            .make_feed_forward = options.family->feed_forward
                                                     ? options.family->feed_forward(options, layer)
                                                     : nn::make_standard_feed_forward,
                            .is_parallel = options.is_parallel,
                            .norm = norm_of(options, options.dim),
                            .norm_placement = options.norm_placement,
                            .dropout = options.dropout});
  }
  if (options.norm_placement == NormPlacement::kPre) {
    stack.norm = norm_of(options, states_dim(options));
  }
  return with_layer_types(std::move(stack), options.layer_types);
}

}  // namespace

CausalModel::CausalModel(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  auto embeddings = causal_embeddings_of(options);
  auto stack = causal_stack_of(options);
  embeddings.positions = stack.positions =
      make_positions(options, {.heads = options.heads, .is_causal = true});
  embeddings_ = register_module("embeddings", nn::Embeddings(embeddings));
  layers_ = register_module("layers", nn::Stack(stack));
  if (options.is_prefix_lm && layers_->has_span_nodes()) {
    throw config::Error(
        "model.attention: binary_tree is not possible with the objective prefix_lm: its tokens see "
        "spans of earlier tokens alone");
  }
  register_pooling();
  const auto& head = head_of(options);
  const bool shares =
      head.predicts_tokens && shares_embedding(options.layer_types, options.tie_word_embeddings);
  use_embedding(embeddings_->words(), {.vocabulary = options.vocabulary, .has_targets = shares});
  if (head.predicts_tokens) {
    register_output_layer(options.layer_types, {.width = states_dim(options),
                                                .vocabulary = options.vocabulary,
                                                .tied = shares ? embeddings_->words() : nullptr});
  }
  if (head.predicts_tokens && !options.tie_word_embeddings &&
      has_output_matrix(options.layer_types)) {
    output_ = register_module(
        "head", nn::Linear(nn::LinearOptions{states_dim(options), options.vocabulary, false}));
  } else if (head.has_classes()) {
    // In transformers token classifiers have a bias, sequence classifiers do not.
    output_ = register_module(
        "head", nn::Linear(nn::LinearOptions{states_dim(options), head_outputs(options),
                                             head.classifies_tokens}));
  }
}

void CausalModel::register_pooling() {
  if (head_of(options_).classifies_sequences && options_.layer_types.pooling) {
    pooling_ = register_module(
        "pooling",
        options_.layer_types.pooling->make({.dim = states_dim(options_), .heads = options_.heads}));
  }
}

at::Tensor CausalModel::hidden(const TextInput& input, const nn::ForwardContext& context) {
  return layers_->forward(embeddings_->forward(input.ids, input.types, context), context);
}

at::Tensor CausalModel::selected_hidden_states(const TextInput& input,
                                               const nn::ForwardContext& context,
                                               const nn::RowSelection& rows) {
  return layers_->forward_selected(embeddings_->forward(input.ids, input.types, context), context,
                                   rows);
}

at::Tensor CausalModel::token_features(const at::Tensor& rows) {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
  return rows;
}

at::Tensor CausalModel::output_weight() {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
  return !has_output_matrix(options_.layer_types) ? at::Tensor()
         : output_                                ? output_->weight()
                                                  : embeddings_->word_weight();
}

at::Tensor CausalModel::output_bias() {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
  return {};
}

at::Tensor CausalModel::logits_of(const at::Tensor& rows, const nn::ForwardContext& context) {
  return output_->forward(
      kernels::dropout(rows, context.rate(options_.classifier_dropout.value_or(0.0)),
                       context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHead))));
}

at::Tensor CausalModel::class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_sequences, architecture_of(options_),
              " does not classify sequences");
  return logits_of(pooling_ != nullptr ? pooling_->forward(hidden, context)
                                       : nn::RowSelection::last_tokens(context).select(hidden),
                   context);
}

at::Tensor CausalModel::classify(const TextInput& input, const nn::ForwardContext& context) {
  if (!head_of(options_).classifies_sequences || pooling_ != nullptr) {
    return class_logits(hidden(input, context), context);
  }
  return logits_of(selected_hidden_states(input, context, nn::RowSelection::last_tokens(context)),
                   context);
}

at::Tensor CausalModel::token_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_tokens, architecture_of(options_),
              " does not classify tokens");
  return output_->forward(kernels::dropout(hidden,
                                           context.rate(options_.classifier_dropout.value_or(0.1)),
                                           context.rng_key(nn::site_id(nn::DropoutSite::kHead))));
}

}  // namespace weft::models
