#include "models/encoder_decoder.h"

#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "config/section.h"
#include "kernels/dropout.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"
#include "nn/dropout_sites.h"

namespace weft::models {

namespace {

nn::EmbeddingsOptions seq2seq_embeddings_of(const ModelOptions& options) {
  const auto& decoder = options.decoder;
  nn::EmbeddingsOptions embeddings;
  embeddings.vocabulary =
      decoder.source_vocabulary > 0 ? decoder.source_vocabulary : options.vocabulary;
  embeddings.dim = options.dim;
  embeddings.length = position_limit(options);
  embeddings.norm = norm_of(options, options.dim);
  embeddings.dropout = options.dropout;
  embeddings.has_norm = decoder.has_embedding_norm;
  embeddings.make_word = word_embedding_of(options);
  embeddings.scale = decoder.scale_embedding ? std::sqrt(static_cast<double>(options.dim)) : 1;
  return embeddings;
}

nn::AttentionOptions seq2seq_attention_of(const ModelOptions& options, int64_t heads) {
  nn::AttentionOptions attention;
  attention.dim = options.dim;
  attention.heads = heads;
  attention.has_bias = options.biases.attention;
  attention.head_dim = options.head_dim;
  attention.scale = capabilities_of(options.family).has_scaled_scores ? 0 : 1;
  attention.dropout = options.attention_dropout;
  return attention;
}

nn::StackOptions seq2seq_stack_of(const ModelOptions& options, bool is_decoder) {
  const auto& decoder = options.decoder;
  nn::BlockOptions block;
  block.attention = seq2seq_attention_of(options, is_decoder ? decoder.heads : options.heads);
  if (is_decoder) {
    block.cross_attention = block.attention;
    block.order = "acf";
    block.attention.is_causal = true;
  }
  block.feed_forward = {.dim = options.dim,
                        .width = is_decoder ? decoder.width : options.width,
                        .activation = options.activation,
                        .is_gated = options.is_gated,
                        .has_bias = options.biases.feed_forward,
                        .dropout = options.activation_dropout};
  block.norm = norm_of(options, options.dim);
  block.norm_placement = options.norm_placement;
  block.dropout = options.dropout;
  nn::StackOptions stack;
  stack.layers.assign(static_cast<std::size_t>(is_decoder ? decoder.layers : options.layers),
                      block);
  if (options.family->feed_forward) {
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
      const auto layer = static_cast<int64_t>(i) + (is_decoder ? options.layers : 0);
      stack.layers[i].make_feed_forward = options.family->feed_forward(options, layer);
    }
  }
  if (options.norm_placement == NormPlacement::kPre) {
    stack.norm = block.norm;
  }
  stack.stochastic_depth = options.stochastic_depth;
  stack.first_layer = is_decoder ? options.layers : 0;
  stack.positions =
      make_positions(options, {.heads = block.attention.heads, .is_causal = is_decoder});
  stack = with_layer_types(std::move(stack), options.layer_types);
  if (stack.mix && is_decoder) {
    stack.mix.reset();
    stack.has_encoder_mix = true;
  } else if (stack.mix && !head_of(options).is_bare) {
    stack.mix->outputs = decoder.layers;
  }
  return stack;
}

}  // namespace

EncoderDecoder::EncoderDecoder(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  const auto stack = seq2seq_stack_of(options, false);
  auto embeddings = seq2seq_embeddings_of(options);
  embeddings.positions = stack.positions;
  embeddings_ = register_module("embeddings", nn::Embeddings(embeddings));
  layers_ = register_module("layers", nn::Stack(stack));
  const bool is_shared =
      head_of(options).is_bare || options.decoder.share_encoder_decoder_embeddings;
  use_embedding(embeddings_->words(), {.vocabulary = embeddings.vocabulary,
                                       .has_source = true,
                                       .has_input = is_shared,
                                       .has_targets = is_shared && shares_output_embedding()});
  if (!head_of(options).is_bare) {
    register_decoder();
    register_head();
  }
}

void EncoderDecoder::register_decoder() {
  const auto stack = seq2seq_stack_of(options_, true);
  auto embeddings = seq2seq_embeddings_of(options_);
  embeddings.positions = stack.positions;
  embeddings.vocabulary = options_.vocabulary;
  embeddings.site = nn::DropoutSite::kDecoderEmbedding;
  if (options_.has_sinusoidal_positions) {
    embeddings.padding_id = options_.pad_id;  // targets start with it; trained as an output only
  }
  if (options_.decoder.share_encoder_decoder_embeddings) {
    embeddings.word = embeddings_->words();
  }
  decoder_embeddings_ = register_module("decoder_embeddings", nn::Embeddings(embeddings));
  decoder_layers_ = register_module("decoder_layers", nn::Stack(stack));
  if (decoder_layers_->has_span_nodes()) {
    throw config::Error(
        "model.attention: binary_tree is not possible in a decoder that reads a source");
  }
  if (!options_.decoder.share_encoder_decoder_embeddings) {
    use_embedding(decoder_embeddings_->words(),
                  {.vocabulary = options_.vocabulary, .has_targets = shares_output_embedding()});
  }
}

bool EncoderDecoder::shares_output_embedding() const {
  return head_of(options_).predicts_tokens &&
         shares_embedding(options_.layer_types, options_.tie_word_embeddings);
}

void EncoderDecoder::register_head() {
  if (head_of(options_).classifies_sequences) {
    classification_head_ = register_module("head", ClassificationHead(options_));
    return;
  }
  register_output_layer(
      options_.layer_types,
      {.width = options_.dim,
       .vocabulary = options_.vocabulary,
       .tied = shares_output_embedding() ? decoder_embeddings_->words() : nullptr});
  if (!has_output_matrix(options_.layer_types)) {
    return;
  }
  if (!options_.tie_word_embeddings) {
    output_ = register_module("head", nn::EmbeddingTable(options_.vocabulary, options_.dim));
  }
  if (capabilities_of(options_.family).has_logits_bias) {
    bias_ = register_parameter("logits_bias", at::empty({1, options_.vocabulary}),
                               /*requires_grad=*/false);
  }
}

at::Tensor EncoderDecoder::dropped(const at::Tensor& states,
                                   nn::DropoutSite site,
                                   const nn::ForwardContext& context) const {
  return capabilities_of(options_.family).has_output_dropout
             ? kernels::dropout(states, context.rate(options_.dropout),
                                context.rng_key(nn::site_id(site)))
             : states;
}

at::Tensor EncoderDecoder::encode(const SourceInput& source, const nn::ForwardContext& context) {
  auto own = context;
  own.encoder_states = nullptr;
  own.decoding_state = nullptr;
  const auto embedded = embeddings_->forward(source.ids, {}, own);
  return dropped(layers_->forward(embedded, own), nn::DropoutSite::kHead, own);
}

at::Tensor EncoderDecoder::decode(const at::Tensor& ids, const nn::ForwardContext& context) {
  TORCH_CHECK(context.encoder_states != nullptr,
              "a decoder needs the hidden states of its encoder: context.encoder_states");
  const auto embedded = decoder_embeddings_->forward(ids, {}, context);
  return dropped(decoder_layers_->forward(embedded, context), nn::DropoutSite::kHeadInner, context);
}

at::Tensor EncoderDecoder::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto& head = head_of(options_);
  if (head.is_bare) {
    return encode({.ids = input.ids, .patches = {}}, context);
  }
  if (!head.classifies_sequences || context.encoder_states != nullptr) {
    return decode(input.ids, context);
  }
  const auto ends = context.layout.device_offsets.slice(0, 1) - 1;
  TORCH_CHECK(!input.ids.is_cpu() || options_.eos_id < 0 ||
                  (input.ids.index_select(0, ends) == options_.eos_id).all().item<bool>(),
              "each sequence must end with the end-of-sequence token ", options_.eos_id,
              ", whose hidden state is classified");
  const nn::EncoderStates encoder_states{
      .states = encode({.ids = input.ids, .patches = {}}, context), .layout = context.layout};
  auto own = context;
  own.encoder_states = &encoder_states;
  return decode(shifted(input.ids, context.layout), own);
}

at::Tensor EncoderDecoder::shifted(const at::Tensor& ids, const kernels::Layout& layout) const {
  auto result = at::roll(ids, 1);
  const auto firsts = layout.device_offsets.slice(0, 0, -1).to(at::kLong);
  return result.index_fill_(0, firsts, options_.decoder.decoder_start_id);
}

at::Tensor EncoderDecoder::token_features(const at::Tensor& rows) {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
  return options_.decoder.scale_decoder_outputs
             ? rows / std::sqrt(static_cast<double>(options_.dim))
             : rows;
}

at::Tensor EncoderDecoder::output_weight() {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
  return !has_output_matrix(options_.layer_types) ? at::Tensor()
         : output_                                ? output_->weight()
                                                  : decoder_embeddings_->word_weight();
}

at::Tensor EncoderDecoder::output_bias() {
  TORCH_CHECK(head_of(options_).predicts_tokens, architecture_of(options_),
              " does not predict tokens");
  return bias_.defined() ? bias_.squeeze(0) : at::Tensor();
}

at::Tensor EncoderDecoder::class_logits(const at::Tensor& hidden,
                                        const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_sequences, architecture_of(options_),
              " does not classify sequences");
  const auto ends = context.layout.device_offsets.slice(0, 1) - 1;
  return classification_head_->forward(
      hidden.index_select(0, ends), context.rate(options_.classifier_dropout.value_or(0.0)),
      context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHead)),
      context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHeadInner)));
}

}  // namespace weft::models
