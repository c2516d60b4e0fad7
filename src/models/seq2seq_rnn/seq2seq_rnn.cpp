#include "models/seq2seq_rnn/seq2seq_rnn.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/dropout.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"
#include "nn/attention/attention_recorder.h"
#include "nn/decoding_state.h"
#include "nn/dropout_sites.h"
#include "nn/recurrent/local_window.h"

namespace weft::models {

namespace {

constexpr int64_t kAttentionLayer = 0;  // of the recorder

/// C: width of the encoder's states.
int64_t encoder_width(const ModelOptions& options, int64_t state_width) {
  return (options.seq2seq_rnn.is_bidirectional ? 2 : 1) * state_width;
}

int64_t source_vocabulary(const ModelOptions& options) {
  return options.decoder.source_vocabulary > 0 ? options.decoder.source_vocabulary
                                               : options.vocabulary;
}

uint32_t layer_site(int64_t layer) {
  return nn::site_id(layer, nn::BlockDropoutSite::kAttentionOutput);
}

/// (1, L, S) of each sequence, from the weights (N, S) of all tokens.
nn::AttentionRecorder::Weights recorded_weights(const at::Tensor& rows,
                                                const nn::ForwardContext& context) {
  const auto& sources = context.encoder_states->layout;
  const auto* decoding = context.decoding_state;
  nn::AttentionRecorder::Weights result;
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    const auto first = context.layout.offsets[static_cast<std::size_t>(b)];
    const auto source =
        decoding != nullptr ? decoding->source_indices()[static_cast<std::size_t>(b)] : b;
    result.push_back(rows.narrow(0, first, context.layout.length(b))
                         .narrow(1, 0, sources.length(source))
                         .unsqueeze(0));
  }
  return result;
}

}  // namespace

Seq2SeqRnn::Seq2SeqRnn(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  const auto& own = options.seq2seq_rnn;
  register_words_of(options);
  // Only the cell knows the width of its states, which may be projected.
  const auto state_width = own.cell->make({.dim = options.dim, .width = own.hidden})->state_width();
  const auto encoded = encoder_width(options, state_width);
  encoder_ = make_cells("encoder", options.layers, options.dim, encoded);
  if (own.is_bidirectional) {
    reverse_encoder_ = make_cells("reverse_encoder", options.layers, options.dim, encoded);
  }
  const auto layers = options.decoder.layers;
  const auto bridge = [&](const std::string& name, int64_t width) {
    return register_module(name, nn::Linear(nn::LinearOptions{encoded, width}));
  };
  const bool has_memory =
      encoder_.front()->initial_state(1, at::empty({1, options.dim})).cell_state.defined();
  for (int64_t layer = 0; layer < layers; ++layer) {
    bridges_.emplace_back(bridge(str_cat("bridge_", layer), state_width));
    if (has_memory) {
      memory_bridges_.emplace_back(bridge(str_cat("memory_bridge_", layer), own.hidden));
    }
  }
  if (own.score) {
    attention_ = register_module("attention",
                                 std::make_shared<nn::EncoderAttention>(nn::EncoderAttentionOptions{
                                     .query_width = state_width,
                                     .value_width = encoded,
                                     .make_score = own.score->make,
                                     .coverage = own.coverage,
                                     .make_window = own.local ? own.local->make : nullptr}));
  }
  const auto fed = !own.attends_after ? encoded : own.has_input_feeding ? options.dim : 0;
  decoder_ = make_cells("decoder", layers, options.dim + fed, state_width);
  const auto read = own.attends_after ? encoded + state_width : state_width + options.dim + encoded;
  const int64_t pieces = !own.attends_after && own.readout == Readout::kMaxout ? 2 : 1;
  readout_ = register_module("readout", nn::Linear(nn::LinearOptions{read, pieces * options.dim}));
  const bool shares = shares_embedding(options.layer_types, options.tie_word_embeddings);
  register_output_layer(options.layer_types, {.width = options.dim,
                                              .vocabulary = options.vocabulary,
                                              .tied = shares ? target_words_ : nullptr});
  if (has_output_matrix(options.layer_types)) {
    if (!options.tie_word_embeddings) {
      output_ = register_parameter("output", at::empty({options.vocabulary, options.dim}));
    }
    bias_ = register_parameter("output_bias", at::empty({options.vocabulary}));
  }
}

void Seq2SeqRnn::register_words_of(const ModelOptions& options) {
  const bool is_shared = options.decoder.share_encoder_decoder_embeddings;
  const bool shares = shares_embedding(options.layer_types, options.tie_word_embeddings);
  const auto source = source_vocabulary(options);
  source_words_ =
      register_words(*this, "source_words", options, {.vocabulary = source, .dim = options.dim});
  use_embedding(source_words_, {.vocabulary = source,
                                .has_source = true,
                                .has_input = is_shared,
                                .has_targets = is_shared && shares});
  target_words_ = source_words_;
  if (!is_shared) {
    target_words_ = register_words(*this, "target_words", options,
                                   {.vocabulary = options.vocabulary, .dim = options.dim});
    use_embedding(target_words_, {.vocabulary = options.vocabulary, .has_targets = shares});
  }
}

Seq2SeqRnn::Cells Seq2SeqRnn::make_cells(const std::string& name,
                                         int64_t layers,
                                         int64_t first_input,
                                         int64_t next_input) {
  const auto& own = options_.seq2seq_rnn;
  Cells cells;
  for (int64_t layer = 0; layer < layers; ++layer) {
    cells.push_back(register_module(
        str_cat(name, "_", layer),
        own.cell->make({.dim = layer == 0 ? first_input : next_input, .width = own.hidden})));
  }
  return cells;
}

at::Tensor Seq2SeqRnn::output_weight() {
  return output_.defined() || !has_output_matrix(options_.layer_types) ? output_
                                                                       : target_words_->weight();
}

at::Tensor Seq2SeqRnn::embedded(nn::TokenEmbedding& words,
                                const at::Tensor& ids,
                                const nn::ForwardContext& context,
                                uint32_t site) const {
  return kernels::dropout(words.forward(ids), context.rate(options_.dropout),
                          context.rng_key(site));
}

at::Tensor Seq2SeqRnn::encode(const SourceInput& source, const nn::ForwardContext& context) {
  auto own = context;
  own.encoder_states = nullptr;
  own.decoding_state = nullptr;
  auto x = embedded(*source_words_, source.ids, own, nn::site_id(nn::DropoutSite::kEmbedding));
  for (std::size_t i = 0; i < encoder_.size(); ++i) {
    const auto input = i == 0 ? x
                              : kernels::dropout(x, own.rate(options_.dropout),
                                                 own.rng_key(layer_site(static_cast<int64_t>(i))));
    auto states = encoder_[i]->token_states(input, /*is_reverse=*/false, own);
    if (!reverse_encoder_.empty()) {
      states =
          at::cat({states, reverse_encoder_[i]->token_states(input, /*is_reverse=*/true, own)}, 1);
    }
    x = layer_output(i, states, x);
  }
  return x;
}

at::Tensor Seq2SeqRnn::layer_output(std::size_t layer,
                                    const at::Tensor& state,
                                    const at::Tensor& input) const {
  return layer > 0 && options_.seq2seq_rnn.has_residuals ? state + input : state;
}

at::Tensor Seq2SeqRnn::summary_of(const at::Tensor& states, const kernels::Layout& layout) const {
  std::vector<int64_t> firsts(layout.offsets.begin(), layout.offsets.end() - 1);
  std::vector<int64_t> lasts;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    lasts.push_back(layout.offsets[static_cast<std::size_t>(b) + 1] - 1);
  }
  auto last = states.index_select(0, kernels::to_device(lasts, states.device()));
  if (reverse_encoder_.empty()) {
    return last;
  }
  const auto width = states.size(1) / 2;
  const auto first = states.index_select(0, kernels::to_device(firsts, states.device()));
  return at::cat({last.narrow(1, 0, width), first.narrow(1, width, width)}, 1);
}

at::Tensor Seq2SeqRnn::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto x =
      embedded(*target_words_, input.ids, context, nn::site_id(nn::DropoutSite::kDecoderEmbedding));
  const auto [features, weights] = context.decoding_state != nullptr || attends_between_steps()
                                       ? run_by_step(x, context)
                                       : run_by_layer(x, context);
  auto* const recorder = context.attention_recorder;
  if (recorder != nullptr && attention_ != nullptr && recorder->records(kAttentionLayer)) {
    recorder->add_cross(kAttentionLayer, recorded_weights(weights, context));
  }
  return kernels::dropout(features, context.rate(options_.dropout),
                          context.rng_key(nn::site_id(nn::DropoutSite::kHead)));
}

}  // namespace weft::models
