#pragma once

#include <vector>

#include "models/decoding/output_tokens.h"
#include "models/decoding/search.h"
#include "models/inference.h"
#include "models/model.h"
#include "nn/decoding_state.h"
#include "nn/forward_context.h"

namespace weft::models {

/// Whether a model generates tokens left to right.
bool can_generate(const Model& model);

/// A model and its decoding state. The model's parameters stay in place; the prompts are packed.
class ModelDecoder : public Decoder {
 public:
  /// `output`: from prepare_for_decoding. `prompts`: with sources if the model is an
  /// encoder-decoder.
  ModelDecoder(Model& model, const DecodingOutput& output, const std::vector<Prompt>& prompts);

  at::Tensor first() override;
  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override;
  /// Continues sequence b with tokens[b], at least `last` ones. Returns the logits after each of
  /// the last ones, (B, last, V).
  at::Tensor extend(const std::vector<Tokens>& tokens, int64_t last);
  /// Sequence i is the former sequence rows[i].
  void reorder(const std::vector<int64_t>& rows);
  nn::DecodingState& state() { return state_; }

  void record_source_attention() override;
  /// Of the last layer with attention to the source, the mean of its heads.
  const std::vector<std::vector<float>>& source_attention() const override {
    return source_attention_;
  }

 private:
  void read_sources();
  /// Logits after the `last` last of the counts[b] new tokens of each sequence b, one after the
  /// other: (B last, V). `prefix_lengths`: nn::ForwardContext.
  at::Tensor step(const std::vector<int64_t>& ids,
                  const std::vector<int64_t>& counts,
                  int64_t last,
                  std::vector<int64_t> prefix_lengths = {});

  Model& model_;
  OutputSelection output_;
  const std::vector<Prompt>& prompts_;
  nn::DecodingState state_;
  nn::EncoderStates encoder_states_;
  bool has_encoder_states_ = false;
  bool records_attention_ = false;
  std::vector<std::vector<float>> source_attention_;
};

}  // namespace weft::models
