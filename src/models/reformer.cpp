#include "models/reformer.h"

#include <utility>

#include "kernels/dropout.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"
#include "nn/dropout_sites.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

namespace {

nn::BlockOptions reformer_layer_of(const ModelOptions& options, int64_t layer) {
  const auto& own = options.reformer;
  const bool is_hashed = is_hashed_layer(options, layer);
  return {.attention = {.dim = options.dim,
                        .heads = options.heads,
                        .is_causal = is_causal_reformer(options),
                        .has_bias = false,
                        .head_dim = head_dim(options),
                        .has_output_bias = false,
                        .dropout = is_hashed ? own.hashed_dropout : options.attention_dropout},
          .make_attention = options.family->attention(options, layer),
          .feed_forward = {.dim = options.dim,
                           .width = options.width,
                           .activation = options.activation,
                           .dropout = options.dropout,
                           .chunk = own.feed_forward_chunk},
          .norm = norm_of(options, options.dim),
          .norm_placement = options.norm_placement,
          .dropout = options.dropout};
}

nn::StackOptions reformer_stack_of(const ModelOptions& options) {
  nn::StackOptions stack;
  stack.stochastic_depth = options.stochastic_depth;
  stack.reversible = nn::StreamMerge::kConcatenate;
  stack.norm = norm_of(options, states_dim(options));
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    stack.layers.push_back(reformer_layer_of(options, layer));
  }
  return with_layer_types(std::move(stack), options.layer_types);
}

}  // namespace

bool is_hashed_layer(const ModelOptions& options, int64_t layer) {
  const auto& listed = options.reformer.hashed_layers;
  return listed.empty() ? layer % 2 == 1 : listed[static_cast<std::size_t>(layer)];
}

bool is_causal_reformer(const ModelOptions& options) {
  const auto& head = head_of(options);
  return head.generates || (options.reformer.is_causal && !head.predicts_tokens);
}

ReformerModel::ReformerModel(const ModelOptions& options) : options_(options) {
  options_.tie_word_embeddings = false;  // the states are wider than the embeddings
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  auto stack = reformer_stack_of(options);
  stack.positions =
      make_positions(options, {.heads = options.heads, .is_causal = is_causal_reformer(options)});
  embeddings_ = register_module(
      "embeddings", nn::Embeddings(nn::EmbeddingsOptions{.vocabulary = options.vocabulary,
                                                         .dim = options.dim,
                                                         .segments = 0,
                                                         .positions = stack.positions,
                                                         .length = position_limit(options),
                                                         .norm = {},
                                                         .dropout = options.dropout,
                                                         .has_norm = false,
                                                         .make_word = word_embedding_of(options)}));
  use_embedding(embeddings_->words(), {.vocabulary = options.vocabulary});
  layers_ = register_module("layers", nn::Stack(stack));
  register_head();
}

void ReformerModel::register_head() {
  const auto& head = head_of(options_);
  const auto width = states_dim(options_);
  if (head.predicts_tokens) {
    mlm_head_ = register_module("head", MlmHead(options_));
    register_output_layer(options_.layer_types,
                          {.width = width, .vocabulary = options_.vocabulary});
  }
  if (head.classifies_sequences || head.has_token_logits()) {
    classification_head_ = register_module("head", ClassificationHead(options_));
  }
  if (head.classifies_sequences && options_.layer_types.pooling) {
    pooling_ = register_module(
        "pooling", options_.layer_types.pooling->make({.dim = width, .heads = options_.heads}));
  }
}

at::Tensor ReformerModel::dropped(const at::Tensor& states,
                                  const nn::ForwardContext& context) const {
  return kernels::dropout(states, context.rate(options_.dropout),
                          context.rng_key(nn::site_id(nn::DropoutSite::kHead)));
}

at::Tensor ReformerModel::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto embedded = embeddings_->forward(input.ids, input.types, context);
  return dropped(layers_->forward(embedded, context), context);
}

at::Tensor ReformerModel::selected_hidden_states(const TextInput& input,
                                                 const nn::ForwardContext& context,
                                                 const nn::RowSelection& rows) {
  const auto embedded = embeddings_->forward(input.ids, input.types, context);
  return dropped(layers_->forward_selected(embedded, context, rows), rows.select(context));
}

void ReformerModel::require_token_head() const {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
}

at::Tensor ReformerModel::token_features(const at::Tensor& rows) {
  require_token_head();
  return rows;
}

at::Tensor ReformerModel::output_weight() {
  require_token_head();
  return mlm_head_->weight();
}

at::Tensor ReformerModel::output_bias() {
  require_token_head();
  return mlm_head_->bias();
}

at::Tensor ReformerModel::class_logits(const at::Tensor& hidden,
                                       const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_sequences, architecture_of(options_),
              " does not classify sequences");
  const auto rows = pooling_ != nullptr ? pooling_->forward(hidden, context)
                                        : nn::first_tokens(hidden, context.layout);
  return classify_rows(options_, nullptr, classification_head_, rows, context);
}

at::Tensor ReformerModel::classify(const TextInput& input, const nn::ForwardContext& context) {
  if (!head_of(options_).classifies_sequences || pooling_ != nullptr) {
    return class_logits(hidden(input, context), context);
  }
  const auto rows = selected_hidden_states(input, context, nn::RowSelection::first_tokens(context));
  return classify_rows(options_, nullptr, classification_head_, rows, context);
}

at::Tensor ReformerModel::token_logits(const at::Tensor& hidden,
                                       const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).has_token_logits(), architecture_of(options_),
              " does not classify tokens");
  return classification_head_->forward(hidden, context.rate(classifier_dropout(options_)),
                                       context.rng_key(nn::site_id(nn::DropoutSite::kHead)),
                                       context.rng_key(nn::site_id(nn::DropoutSite::kHeadInner)));
}

}  // namespace weft::models
