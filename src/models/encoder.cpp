#include "models/encoder.h"

#include <utility>

#include "models/config/family.h"
#include "models/config/modern.h"
#include "models/config/traits.h"
#include "models/generator.h"
#include "nn/sequence_sum.h"
#include "nn/sites.h"

namespace weft::models {

namespace {

nn::EmbeddingsOptions encoder_embeddings_of(const ModelOptions& options) {
  const int64_t width = embedding_width(options);
  return {
      .vocabulary = options.vocabulary,
      .dim = width,
      .segments = options.segments,
      .fills_types = !traits_of(options.family).tells_languages,
      .position = {.type = options.modern.theta > 0 ? nn::PositionType::kRotary
                                                    : nn::PositionType::kLearned,
                   .dim = width,
                   .length = options.length,
                   .offset = position_offset(options)},
      .norm = {.dim = width, .epsilon = options.norm_epsilon, .has_bias = options.modern.norm_bias},
      .dropout = options.dropout};
}

nn::AttentionOptions encoder_attention_of(const ModelOptions& options, int64_t layer) {
  const bool is_full = sees_all(options, layer);
  return {.type = is_full ? nn::AttentionType::kFull : nn::AttentionType::kWindow,
          .dim = options.dim,
          .heads = options.heads,
          .window = is_full ? 0 : options.modern.window,
          .has_bias = options.modern.attention_bias,
          .theta = is_full ? options.modern.theta : options.modern.local_theta,
          .dropout = options.attention_dropout};
}

nn::StackOptions encoder_stack_of(const ModelOptions& options) {
  const auto& modern = options.modern;
  std::vector<nn::AttentionOptions> attention;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    attention.push_back(encoder_attention_of(options, layer));
  }
  // ModernBERT has no rate for what the sub-layers give: the attention's serves for its own.
  const bool is_new = is_modern(options.family);
  return {.layers = options.layers,
          .block = {.feed_forward = {.dim = options.dim,
                                     .width = options.width,
                                     .activation = options.activation,
                                     .is_gated = modern.is_gated,
                                     .has_bias = modern.feed_forward_bias,
                                     .dropout = modern.feed_forward_dropout},
                    .norm = {.dim = options.dim,
                             .epsilon = options.norm_epsilon,
                             .has_bias = modern.norm_bias},
                    .norm_place = options.norm_place,
                    .dropout = is_new ? options.attention_dropout : options.dropout,
                    .feed_forward_dropout = is_new ? 0 : options.dropout},
          .attention = std::move(attention),
          .has_first_norm = !is_new};
}

}  // namespace

Encoder::Encoder(const ModelOptions& options, std::shared_ptr<nn::Embeddings> embeddings)
    : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  embeddings_ = embeddings
                    ? register_module("embeddings", std::move(embeddings))
                    : make_part<nn::Embeddings>("embeddings", encoder_embeddings_of(options));
  if (embedding_width(options) != options.dim) {
    projection_ = make_part<nn::Linear>("projection",
                                        nn::LinearOptions{embedding_width(options), options.dim});
  }
  layers_ = make_part<nn::Stack>("layers", encoder_stack_of(options));
  register_head();
}

Encoder& Encoder::add_generator(const ModelOptions& options) {
  TORCH_CHECK(embedding_width(options) == embedding_width(options_) &&
                  options.vocabulary == options_.vocabulary && options.length == options_.length &&
                  options.segments == options_.segments,
              "a generator shares its discriminator's embeddings, of which this one has others");
  return *make_part<Encoder>(kGenerator, options, embeddings_);
}

void Encoder::register_head() {
  const auto& traits = traits_of(options_.family);
  const auto pool = [this] { pooler_ = make_part<nn::Pooler>("pooler", options_.dim); };
  const auto guess = [this] { masked_head_ = make_part<MaskedHead>("head", options_); };
  const auto classify = [this] { class_head_ = make_part<ClassHead>("head", options_); };
  const auto pair = [this] {
    next_sentence_ = make_part<nn::Linear>("next_sentence", nn::LinearOptions{options_.dim, 2});
  };
  switch (options_.head) {
    case Head::kNone:
      return traits.has_pooler ? pool() : void();
    case Head::kMaskedLm:
      return guess();
    case Head::kPretraining:
      pool();
      guess();
      return pair();
    case Head::kNextSentence:
      pool();
      return pair();
    case Head::kSequence:
      if (traits.classifies_pooled) {
        pool();
      }
      return classify();
    case Head::kToken:
    case Head::kSpan:
    case Head::kReplacedToken:
      return classify();
    case Head::kCausalLm:
    case Head::kConditional:
    case Head::kImage:
    case Head::kTaughtImage:
    case Head::kMaskedImage:
      return;  // no head of these families
  }
}

at::Tensor Encoder::embedded(const TextInput& input, const nn::Pass& pass) {
  const auto rows = embeddings_->forward(input.ids, input.types, pass);  // (N, E)
  return projection_ ? projection_->forward(rows) : rows;
}

at::Tensor Encoder::hidden(const TextInput& input, const nn::Pass& pass) {
  return layers_->forward(embedded(input, pass), pass);
}

at::Tensor Encoder::hidden_rows(const TextInput& input,
                                const nn::Pass& pass,
                                const nn::ChosenRows& rows) {
  return layers_->rows(embedded(input, pass), pass, rows);
}

at::Tensor Encoder::pooled(const at::Tensor& hidden, const nn::Pass& pass) {
  TORCH_CHECK(pooler_, architecture_of(options_), " has no pooler");
  return pooler_->forward(nn::first_tokens(hidden, pass.layout));
}

at::Tensor Encoder::token_features(const at::Tensor& rows) {
  TORCH_CHECK(masked_head_, architecture_of(options_), " guesses no tokens");
  return masked_head_->features(rows);
}

at::Tensor Encoder::output_weight() {
  TORCH_CHECK(masked_head_, architecture_of(options_), " guesses no tokens");
  return options_.ties_embeddings ? embeddings_->word_weight() : masked_head_->weight();
}

at::Tensor Encoder::output_bias() {
  TORCH_CHECK(masked_head_, architecture_of(options_), " guesses no tokens");
  return masked_head_->bias();
}

at::Tensor Encoder::next_sentence_logits(const at::Tensor& pooled) {
  TORCH_CHECK(next_sentence_, architecture_of(options_), " judges no pairs of sentences");
  return next_sentence_->forward(pooled);
}

at::Tensor Encoder::logits_of(const at::Tensor& rows, const nn::Pass& pass) {
  return class_head_->forward(pooler_ ? pooler_->forward(rows) : rows,
                              pass.rate(classifier_dropout(options_)),
                              pass.sequence_chance(nn::site(nn::Site::kHead)),
                              pass.sequence_chance(nn::site(nn::Site::kHeadInner)));
}

at::Tensor Encoder::class_logits(const at::Tensor& hidden, const nn::Pass& pass) {
  TORCH_CHECK(options_.head == Head::kSequence, architecture_of(options_),
              " does not classify sequences");
  if (!options_.modern.pools_mean) {
    return logits_of(nn::first_tokens(hidden, pass.layout), pass);
  }
  const auto lengths = pass.layout.device_offsets.diff().unsqueeze(1);  // (B, 1)
  return logits_of((nn::sum_by_sequence(hidden, pass.layout) / lengths).to(hidden.scalar_type()),
                   pass);
}

at::Tensor Encoder::classify(const TextInput& input, const nn::Pass& pass) {
  if (options_.head != Head::kSequence || options_.modern.pools_mean) {
    return class_logits(hidden(input, pass), pass);
  }
  return logits_of(hidden_rows(input, pass, nn::ChosenRows::first_tokens(pass)), pass);
}

at::Tensor Encoder::token_logits(const at::Tensor& hidden, const nn::Pass& pass) {
  const auto head = options_.head;
  TORCH_CHECK(head == Head::kSpan || head == Head::kToken || head == Head::kReplacedToken,
              architecture_of(options_), " does not classify tokens");
  const double dropout = head == Head::kReplacedToken ? 0.0 : classifier_dropout(options_);
  return class_head_->forward(hidden, pass.rate(dropout), pass.chance(nn::site(nn::Site::kHead)),
                              pass.chance(nn::site(nn::Site::kHeadInner)));
}

}  // namespace weft::models
