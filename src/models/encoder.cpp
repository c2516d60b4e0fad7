#include "models/encoder.h"

#include <utility>

#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/generator.h"
#include "models/stack_parts.h"
#include "nn/attention/attention_types.h"
#include "nn/document/document_encoder.h"
#include "nn/dropout_sites.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

namespace {

nn::EmbeddingsOptions encoder_embeddings_of(const ModelOptions& options) {
  const int64_t width = embedding_width(options);
  return {.vocabulary = options.vocabulary,
          .dim = width,
          .segments = capabilities_of(options.family).has_segments ? options.type_vocab_size : 0,
          .defaults_token_types = !capabilities_of(options.family).has_language_ids,
          .length = position_limit(options),
          .norm = norm_of(options, width),
          .dropout = options.dropout,
          .make_word = word_embedding_of(options)};
}

nn::AttentionMaker attention_of(const ModelOptions& options, int64_t layer) {
  if (options.family->attention) {
    return options.family->attention(options, layer);
  }
  return is_global_attention_layer(options, layer) ? nn::make_full_attention
                                                   : nn::window_attention(options.window.size);
}

nn::BlockOptions encoder_layer_of(const ModelOptions& options, int64_t layer) {
  const bool is_full = is_global_attention_layer(options, layer);
  const auto& capabilities = capabilities_of(options.family);
  const bool has_own_rate = capabilities.has_sublayer_dropout;
  return {.attention = {.dim = options.dim,
                        .heads = options.heads,
                        .has_bias = options.biases.attention,
                        .has_key_bias = capabilities.has_key_bias,
                        .is_local = !is_full,
                        .head_dim = options.head_dim,
                        .dropout = options.attention_dropout},
          .make_attention = attention_of(options, layer),
          .feed_forward = {.dim = options.dim,
                           .width = options.width,
                           .activation = options.activation,
                           .is_gated = options.is_gated,
                           .has_bias = options.biases.feed_forward,
                           .dropout = options.activation_dropout},
          .norm = norm_of(options, options.dim),
          .norm_placement = options.norm_placement,
          .has_first_norm = layer > 0 || capabilities.has_first_norm,
          .dropout = has_own_rate ? options.dropout : options.attention_dropout,
          .feed_forward_dropout =
              has_own_rate && capabilities.has_feed_forward_dropout ? options.dropout : 0};
}

nn::StackOptions plain_stack_of(const ModelOptions& options) {
  auto stack = encoder_stack_of(options, options.layers);
  stack.input_convolution = options.input_convolution;
  stack.may_shorten = head_of(options).classifies_sequences && !options.early_exit;
  return stack;
}

}  // namespace

nn::StackOptions encoder_stack_of(const ModelOptions& options, int64_t layers) {
  nn::StackOptions stack;
  stack.layer_groups = options.layer_groups;
  stack.stochastic_depth = options.stochastic_depth;
  for (int64_t layer = 0; layer < layers; ++layer) {
    stack.layers.push_back(encoder_layer_of(options, layer));
  }
  if (options.norm_placement == NormPlacement::kPre) {
    stack.norm = norm_of(options, states_dim(options));
  }
  return with_layer_types(std::move(stack), options.layer_types);
}

Encoder::Encoder(const ModelOptions& options, nn::Embeddings embeddings)
    : Encoder(options, std::move(embeddings), plain_stack_of(options)) {}

Encoder::Encoder(const ModelOptions& options, nn::Embeddings embeddings, nn::StackOptions stack)
    : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  stack.positions = make_positions(options, {.heads = options.heads});
  if (!embeddings) {
    auto made = encoder_embeddings_of(options);
    made.positions = stack.positions;
    embeddings = nn::Embeddings(made);
  }
  embeddings_ = register_module("embeddings", std::move(embeddings));
  if (embedding_width(options) != options.dim) {
    projection_ = register_module(
        "projection", nn::Linear(nn::LinearOptions{embedding_width(options), options.dim}));
  }
  layers_ = register_module("layers", nn::Stack(stack));
  if (options.document) {
    register_document();
  }
  register_head();
}

void Encoder::register_document() {
  if (layers_->has_span_nodes()) {
    throw config::Error("model.document: is not possible with attention of type binary_tree");
  }
  document_ = register_module("document", make_document_encoder(options_));
  if (head_of(options_).predicts_tokens) {
    sentence_decoder_ =
        register_module("sentence_decoder", nn::Stack(sentence_decoder_of(options_)));
  }
}

Encoder& Encoder::add_generator(const ModelOptions& options, EmbeddingSharing sharing) {
  TORCH_CHECK(embedding_width(options) == embedding_width(options_) &&
                  options.vocabulary == options_.vocabulary && options.length == options_.length &&
                  options.type_vocab_size == options_.type_vocab_size,
              "a generator shares its discriminator's embeddings, but their shapes differ");
  const bool is_shared = sharing == EmbeddingSharing::kShared;
  const auto generator = register_module(
      kGenerator, make_generator(options, is_shared ? embeddings_ : nn::Embeddings(nullptr)));
  if (!is_shared) {
    embeddings_->add_words_to(generator->embeddings_->words());
  }
  return *generator;
}

std::shared_ptr<Encoder> Encoder::make_generator(const ModelOptions& options,
                                                 const nn::Embeddings& embeddings) const {
  return std::make_shared<Encoder>(options, embeddings);
}

std::string Encoder::base_of(const std::string& parameter) const {
  return embeddings_->has_base() && parameter == kWordEmbeddings
             ? str_cat(kGeneratorPrefix, kWordEmbeddings)
             : "";
}

void Encoder::register_head() {
  const auto& head = head_of(options_);
  const bool shares =
      head.predicts_tokens && shares_embedding(options_.layer_types, options_.tie_word_embeddings);
  use_embedding(embeddings_->words(), {.vocabulary = options_.vocabulary, .has_targets = shares});
  if (has_pooler(options_)) {
    pooler_ = register_module("pooler", nn::Pooler(options_.dim));
  }
  if (head.predicts_tokens) {
    mlm_head_ = register_module("head", MlmHead(options_));
    register_output_layer(options_.layer_types, {.width = embedding_width(options_),
                                                 .vocabulary = options_.vocabulary,
                                                 .tied = shares ? embeddings_->words() : nullptr});
  }
  if (head.classifies_sequences || head.has_token_logits()) {
    classification_head_ = register_module("head", ClassificationHead(options_));
  }
  const auto pooling = options_.document ? options_.document->pooling
                       : options_.uses_mean_pooling
                           ? nn::default_component(nn::sequence_poolings(), "mean")
                           : options_.layer_types.pooling;
  if (head.classifies_sequences && pooling) {
    pooling_ = register_module(
        "pooling", pooling->make({.dim = states_dim(options_), .heads = options_.heads}));
  }
  if (head.classifies_sequences && options_.early_exit) {
    if (layers_->has_span_nodes()) {
      throw config::Error("model.early_exit: is not possible with attention of type binary_tree");
    }
    if (layers_->has_memory()) {
      throw config::Error(
          "model.early_exit: is not possible with sub-layers that read memory slots");
    }
    if (!layers_->has_one_width()) {
      throw config::Error("model.early_exit: is not possible with layers of different widths");
    }
    early_exits_ = register_module("early_exits", EarlyExits(options_));
  }
  if (head.predicts_next_sentence) {
    next_sentence_ = register_module(
        "next_sentence", nn::Linear(nn::LinearOptions{options_.dim, head.fixed_outputs}));
  }
}

at::Tensor Encoder::embedded(const TextInput& input, const nn::ForwardContext& context) {
  const auto rows = embeddings_->forward(input.ids, input.types, context);  // (N, E)
  return projection_ ? projection_->forward(rows) : rows;
}

at::Tensor Encoder::hidden(const TextInput& input, const nn::ForwardContext& context) {
  if (!document_) {
    return layers_->forward(embedded(input, context), context);
  }
  if (sentence_decoder_ && context.encoder_states != nullptr) {
    return sentence_decoder_->forward(embedded(input, context), context);
  }
  const auto own = nn::sentence_context(context);
  auto tokens = document_->token_states(*layers_, embedded(input, own), context);
  if (!head_of(options_).classifies_tokens && !head_of(options_).predicts_tokens) {
    return tokens;
  }
  const auto sentences = document_->sentence_states(tokens, context);  // (S, D)
  return tokens.index_copy(0, nn::RowSelection::last_tokens(own).index,
                           sentences.to(tokens.scalar_type()));
}

kernels::Layout Encoder::hidden_layout(const kernels::Layout& tokens) const {
  return layers_->context_after({.layout = tokens}).layout;
}

at::Tensor Encoder::selected_hidden_states(const TextInput& input,
                                           const nn::ForwardContext& context,
                                           const nn::RowSelection& rows) {
  if (document_) {
    return rows.select(hidden(input, context));
  }
  return layers_->forward_selected(embedded(input, context), context, rows);
}

at::Tensor Encoder::pooled(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(pooler_, architecture_of(options_), " has no pooler");
  return pooler_->forward(nn::first_tokens(hidden, context.layout));
}

at::Tensor Encoder::token_features(const at::Tensor& rows) {
  TORCH_CHECK(mlm_head_, architecture_of(options_), " does not predict tokens");
  return mlm_head_->transform(rows);
}

at::Tensor Encoder::output_weight() {
  TORCH_CHECK(mlm_head_, architecture_of(options_), " does not predict tokens");
  return !has_output_matrix(options_.layer_types) ? at::Tensor()
         : options_.tie_word_embeddings           ? embeddings_->word_weight()
                                                  : mlm_head_->weight();
}

at::Tensor Encoder::output_bias() {
  TORCH_CHECK(mlm_head_, architecture_of(options_), " does not predict tokens");
  return mlm_head_->bias();
}

at::Tensor Encoder::next_sentence_logits(const at::Tensor& pooled) {
  TORCH_CHECK(next_sentence_, architecture_of(options_),
              " does not support next sentence prediction");
  return next_sentence_->forward(pooled);
}

at::Tensor Encoder::logits_of(const at::Tensor& rows, const nn::ForwardContext& context) {
  return classify_rows(options_, pooler_, classification_head_, rows, context);
}

ExitPath Encoder::exit_path() {
  return {
      .stack = *layers_,
      .rows =
          [this](const at::Tensor& hidden, const nn::ForwardContext& context) {
            return pooling_ != nullptr
                       ? pooling_->forward(layers_->final_norm(hidden), context)
                       : layers_->final_norm(nn::first_tokens(hidden, context.layout));
          },
      .classify = [this](const at::Tensor& rows,
                         const nn::ForwardContext& context) { return logits_of(rows, context); }};
}

std::vector<WeightedLogits> Encoder::training_logits(const TextInput& input,
                                                     const nn::ForwardContext& context) {
  return early_exits_ ? early_exits_->all_logits(exit_path(), embedded(input, context), context)
                      : Model::training_logits(input, context);
}

at::Tensor Encoder::class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_sequences, architecture_of(options_),
              " does not classify sequences");
  if (document_) {
    const auto sentences = document_->sentence_states(hidden, context);  // (S, D)
    return logits_of(pooling_->forward(sentences, nn::document_context(context)), context);
  }
  const auto own = layers_->context_after(context);
  return logits_of(
      pooling_ != nullptr ? pooling_->forward(hidden, own) : nn::first_tokens(hidden, own.layout),
      context);
}

at::Tensor Encoder::classify(const TextInput& input, const nn::ForwardContext& context) {
  if (early_exits_ && context.attention_recorder == nullptr) {
    return early_exits_->classify(exit_path(), embedded(input, context), context);
  }
  if (!head_of(options_).classifies_sequences || pooling_ != nullptr) {
    return class_logits(hidden(input, context), context);
  }
  const auto first = nn::RowSelection::first_tokens(layers_->context_after(context));
  return logits_of(selected_hidden_states(input, context, first), context);
}

at::Tensor Encoder::token_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).has_token_logits(), architecture_of(options_),
              " does not classify tokens");
  return classification_head_->forward(hidden, context.rate(classifier_dropout(options_)),
                                       context.rng_key(nn::site_id(nn::DropoutSite::kHead)),
                                       context.rng_key(nn::site_id(nn::DropoutSite::kHeadInner)));
}

}  // namespace weft::models
