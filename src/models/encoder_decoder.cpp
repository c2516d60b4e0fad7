#include "models/encoder_decoder.h"

#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/dropout.h"
#include "models/causal_model.h"
#include "models/config/family.h"
#include "nn/sites.h"

namespace weft::models {

namespace {

/// T5: positions are a bias of the scores; its states are dropped once more, and the output matrix
/// has no bias.
bool is_relative(const ModelOptions& options) { return options.decoder.relative_buckets > 0; }

nn::EmbeddingsOptions seq2seq_embeddings_of(const ModelOptions& options) {
  const auto& decoder = options.decoder;
  const auto type = is_relative(options)        ? nn::PositionType::kNone
                    : options.begins_sinusoidal ? nn::PositionType::kSinusoidal
                                                : nn::PositionType::kLearned;
  nn::EmbeddingsOptions embeddings;
  embeddings.vocabulary =
      decoder.source_vocabulary > 0 ? decoder.source_vocabulary : options.vocabulary;
  embeddings.dim = options.dim;
  embeddings.position = {.type = type,
                         .dim = options.dim,
                         .length = options.length,
                         .offset = decoder.position_offset,
                         .is_interleaved = false};
  embeddings.norm = norm_of(options);
  embeddings.dropout = options.dropout;
  embeddings.has_norm = decoder.has_embedding_norm;
  embeddings.scale = decoder.scales_embedding ? std::sqrt(static_cast<double>(options.dim)) : 1;
  return embeddings;
}

nn::AttentionOptions seq2seq_attention_of(const ModelOptions& options, int64_t heads) {
  nn::AttentionOptions attention;
  attention.dim = options.dim;
  attention.heads = heads;
  attention.has_bias = options.modern.attention_bias;
  attention.head_width = options.decoder.head_width;
  attention.scale = is_relative(options) ? 1 : 0;  // T5 puts it into the initial values
  attention.dropout = options.attention_dropout;
  return attention;
}

nn::StackOptions seq2seq_stack_of(const ModelOptions& options, bool is_decoder) {
  const auto& decoder = options.decoder;
  nn::BlockOptions block;
  block.attention = seq2seq_attention_of(options, is_decoder ? decoder.heads : options.heads);
  block.attention.has_distances = is_relative(options);
  if (is_decoder) {
    block.cross_attention = block.attention;
    block.cross_attention.has_distances = false;
    block.has_cross_attention = true;
    block.attention.is_causal = true;
  }
  block.feed_forward = {.dim = options.dim,
                        .width = is_decoder ? decoder.width : options.width,
                        .activation = options.activation,
                        .is_gated = options.modern.is_gated,
                        .has_bias = options.modern.feed_forward_bias,
                        .dropout = options.modern.feed_forward_dropout};
  block.norm = norm_of(options);
  block.norm_place = options.norm_place;
  block.dropout = options.dropout;
  nn::StackOptions stack;
  stack.layers = is_decoder ? decoder.layers : options.layers;
  stack.block = block;
  stack.first_layer = is_decoder ? options.layers : 0;
  stack.relative = {.buckets = decoder.relative_buckets,
                    .distance = decoder.relative_distance,
                    .heads = block.attention.heads,
                    .is_causal = is_decoder};
  return stack;
}

}  // namespace

EncoderDecoder::EncoderDecoder(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  embeddings_ = make_part<nn::Embeddings>("embeddings", seq2seq_embeddings_of(options));
  layers_ = make_part<nn::Stack>("layers", seq2seq_stack_of(options, false));
  if (options.head != Head::kNone) {
    register_decoder();
    register_head();
  }
}

void EncoderDecoder::register_decoder() {
  auto embeddings = seq2seq_embeddings_of(options_);
  embeddings.vocabulary = options_.vocabulary;
  embeddings.site = nn::Site::kDecoderEmbedding;
  if (options_.begins_sinusoidal) {
    embeddings.fixed_id = options_.pad_id;  // with it the targets begin; trained as an output only
  }
  if (options_.decoder.ties_source) {
    embeddings.word = embeddings_->words();
  }
  decoder_embeddings_ = make_part<nn::Embeddings>("decoder_embeddings", embeddings);
  decoder_layers_ = make_part<nn::Stack>("decoder_layers", seq2seq_stack_of(options_, true));
}

void EncoderDecoder::register_head() {
  if (options_.head == Head::kSequence) {
    class_head_ = make_part<ClassHead>("head", options_);
    return;
  }
  if (!options_.ties_embeddings) {
    output_ = make_part<nn::Table>("head", options_.vocabulary, options_.dim);
  }
  if (!is_relative(options_)) {
    bias_ = register_parameter("logits_bias", at::empty({1, options_.vocabulary}),
                               /*requires_grad=*/false);
  }
}

at::Tensor EncoderDecoder::dropped(const at::Tensor& states,
                                   nn::Site site,
                                   const nn::Pass& pass) const {
  return is_relative(options_)
             ? kernels::dropout(states, pass.rate(options_.dropout), pass.chance(nn::site(site)))
             : states;
}

at::Tensor EncoderDecoder::encode(const SourceInput& source, const nn::Pass& pass) {
  auto own = pass;
  own.memory = nullptr;
  own.cache = nullptr;
  const auto embedded = embeddings_->forward(source.ids, {}, own);
  return dropped(layers_->forward(embedded, own), nn::Site::kHead, own);
}

at::Tensor EncoderDecoder::decode(const at::Tensor& ids, const nn::Pass& pass) {
  TORCH_CHECK(pass.memory != nullptr, "a decoder needs the states of its encoder: pass.memory");
  const auto embedded = decoder_embeddings_->forward(ids, {}, pass);
  return dropped(decoder_layers_->forward(embedded, pass), nn::Site::kHeadInner, pass);
}

at::Tensor EncoderDecoder::hidden(const TextInput& input, const nn::Pass& pass) {
  if (options_.head == Head::kNone) {
    return encode({.ids = input.ids, .patches = {}}, pass);
  }
  if (options_.head != Head::kSequence || pass.memory != nullptr) {
    return decode(input.ids, pass);
  }
  const auto ends = pass.layout.device_offsets.slice(0, 1) - 1;
  TORCH_CHECK(!input.ids.is_cpu() || options_.end_id < 0 ||
                  (input.ids.index_select(0, ends) == options_.end_id).all().item<bool>(),
              "each sequence must end with the end-of-sequence token ", options_.end_id,
              ", whose state is classified");
  const nn::Memory memory{.states = encode({.ids = input.ids, .patches = {}}, pass),
                          .layout = pass.layout};
  auto own = pass;
  own.memory = &memory;
  return decode(shifted(input.ids, pass.layout), own);
}

at::Tensor EncoderDecoder::shifted(const at::Tensor& ids, const kernels::Layout& layout) const {
  auto result = at::roll(ids, 1);
  const auto firsts = layout.device_offsets.slice(0, 0, -1).to(at::kLong);
  return result.index_fill_(0, firsts, options_.decoder.start_id);
}

at::Tensor EncoderDecoder::token_features(const at::Tensor& rows) {
  TORCH_CHECK(options_.head == Head::kConditional, architecture_of(options_), " guesses no tokens");
  return options_.decoder.scales_output ? rows / std::sqrt(static_cast<double>(options_.dim))
                                        : rows;
}

at::Tensor EncoderDecoder::output_weight() {
  TORCH_CHECK(options_.head == Head::kConditional, architecture_of(options_), " guesses no tokens");
  return output_ ? output_->weight() : decoder_embeddings_->word_weight();
}

at::Tensor EncoderDecoder::output_bias() {
  TORCH_CHECK(options_.head == Head::kConditional, architecture_of(options_), " guesses no tokens");
  return bias_.defined() ? bias_.squeeze(0) : at::Tensor();
}

at::Tensor EncoderDecoder::class_logits(const at::Tensor& hidden, const nn::Pass& pass) {
  TORCH_CHECK(options_.head == Head::kSequence, architecture_of(options_),
              " does not classify sequences");
  const auto ends = pass.layout.device_offsets.slice(0, 1) - 1;
  return class_head_->forward(hidden.index_select(0, ends),
                              pass.rate(options_.head_dropout.value_or(0.0)),
                              pass.sequence_chance(nn::site(nn::Site::kHead)),
                              pass.sequence_chance(nn::site(nn::Site::kHeadInner)));
}

}  // namespace weft::models
