#include "models/causal_model.h"

#include <cmath>

#include "kernels/dropout.h"
#include "models/config/family.h"
#include "nn/pooling.h"
#include "nn/sites.h"

namespace weft::models {

namespace {

nn::EmbeddingsOptions causal_embeddings_of(const ModelOptions& options) {
  const bool is_rotary = options.modern.theta > 0;
  return {.vocabulary = options.vocabulary,
          .dim = options.dim,
          .segments = 0,
          .position = {.type = is_rotary ? nn::PositionType::kRotary : nn::PositionType::kLearned,
                       .dim = options.dim,
                       .length = options.length},
          .norm = {},
          .dropout = options.decoder.embedding_dropout,
          .has_norm = false};
}

nn::AttentionOptions causal_attention_of(const ModelOptions& options, int64_t layer) {
  const auto& decoder = options.decoder;
  const bool has_window = decoder.window > 0 && layer >= decoder.first_window;
  const auto width = static_cast<double>(head_width(options));
  return {.type = has_window ? nn::AttentionType::kWindow : nn::AttentionType::kFull,
          .dim = options.dim,
          .heads = options.heads,
          .window = has_window ? decoder.window : 0,
          .is_causal = true,
          .has_bias = options.modern.attention_bias,
          .theta = options.modern.theta,
          .stretched = rotary_of(options),
          .key_heads = key_value_heads(options),
          .head_width = head_width(options),
          .scale =
              decoder.scales_by_layer ? 1 / (std::sqrt(width) * static_cast<double>(layer + 1)) : 0,
          .has_output_bias = decoder.output_bias,
          .dropout = options.attention_dropout};
}

bool is_causal_classifying(Head head) { return head == Head::kSequence || head == Head::kToken; }

nn::StackOptions causal_stack_of(const ModelOptions& options) {
  std::vector<nn::AttentionOptions> attention;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    attention.push_back(causal_attention_of(options, layer));
  }
  nn::BlockOptions block;
  block.feed_forward = {.dim = options.dim,
                        .width = options.width,
                        .activation = options.activation,
                        .is_gated = options.modern.is_gated,
                        .has_bias = options.modern.feed_forward_bias};
  block.norm = norm_of(options);
  block.norm_place = options.norm_place;
  block.is_parallel = options.decoder.is_parallel;
  block.dropout = options.dropout;
  return {.layers = options.layers, .block = block, .attention = std::move(attention)};
}

}  // namespace

nn::NormOptions norm_of(const ModelOptions& options) {
  return {.type = options.decoder.has_rms_norm ? nn::NormType::kRms : nn::NormType::kLayer,
          .dim = options.dim,
          .epsilon = options.norm_epsilon,
          .has_bias = options.modern.norm_bias};
}

kernels::RotaryOptions rotary_of(const ModelOptions& options) {
  const auto& decoder = options.decoder;
  kernels::RotaryOptions rotary{.width = head_width(options),
                                .theta = options.modern.theta,
                                .stretch = decoder.rotary_stretch};
  if (decoder.rotary_share < 1) {
    rotary.width = static_cast<int64_t>(static_cast<double>(rotary.width) * decoder.rotary_share);
  }
  return rotary;
}

CausalModel::CausalModel(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  embeddings_ = make_part<nn::Embeddings>("embeddings", causal_embeddings_of(options));
  layers_ = make_part<nn::Stack>("layers", causal_stack_of(options));
  if (options.head == Head::kCausalLm && !options.ties_embeddings) {
    output_ =
        make_part<nn::Linear>("head", nn::LinearOptions{options.dim, options.vocabulary, false});
  } else if (is_causal_classifying(options.head)) {
    // transformers gives a classifier of tokens a bias, one of sequences none.
    output_ = make_part<nn::Linear>("head", nn::LinearOptions{options.dim, head_outputs(options),
                                                              options.head == Head::kToken});
  }
}

at::Tensor CausalModel::hidden(const TextInput& input, const nn::Pass& pass) {
  return layers_->forward(embeddings_->forward(input.ids, input.types, pass), pass);
}

at::Tensor CausalModel::hidden_rows(const TextInput& input,
                                    const nn::Pass& pass,
                                    const nn::ChosenRows& rows) {
  return layers_->rows(embeddings_->forward(input.ids, input.types, pass), pass, rows);
}

at::Tensor CausalModel::token_features(const at::Tensor& rows) {
  TORCH_CHECK(options_.head == Head::kCausalLm, architecture_of(options_), " guesses no tokens");
  return rows;
}

at::Tensor CausalModel::output_weight() {
  TORCH_CHECK(options_.head == Head::kCausalLm, architecture_of(options_), " guesses no tokens");
  return output_ ? output_->weight() : embeddings_->word_weight();
}

at::Tensor CausalModel::output_bias() {
  TORCH_CHECK(options_.head == Head::kCausalLm, architecture_of(options_), " guesses no tokens");
  return {};
}

at::Tensor CausalModel::logits_of(const at::Tensor& rows, const nn::Pass& pass) {
  return output_->forward(kernels::dropout(rows, pass.rate(options_.head_dropout.value_or(0.0)),
                                           pass.sequence_chance(nn::site(nn::Site::kHead))));
}

at::Tensor CausalModel::class_logits(const at::Tensor& hidden, const nn::Pass& pass) {
  TORCH_CHECK(options_.head == Head::kSequence, architecture_of(options_),
              " does not classify sequences");
  return logits_of(nn::ChosenRows::last_tokens(pass).of(hidden), pass);
}

at::Tensor CausalModel::classify(const TextInput& input, const nn::Pass& pass) {
  if (options_.head != Head::kSequence) {
    return class_logits(hidden(input, pass), pass);
  }
  return logits_of(hidden_rows(input, pass, nn::ChosenRows::last_tokens(pass)), pass);
}

at::Tensor CausalModel::token_logits(const at::Tensor& hidden, const nn::Pass& pass) {
  TORCH_CHECK(options_.head == Head::kToken, architecture_of(options_),
              " does not classify tokens");
  return output_->forward(kernels::dropout(hidden, pass.rate(options_.head_dropout.value_or(0.1)),
                                           pass.chance(nn::site(nn::Site::kHead))));
}

}  // namespace weft::models
