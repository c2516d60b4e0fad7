#include "models/decoding/model_decoder.h"

#include <optional>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/to_device.h"
#include "models/config/family_definition.h"
#include "models/model.h"
#include "models/source_attention.h"
#include "nn/attention/attention_recorder.h"

namespace weft::models {

namespace {

/// The last tokens of each sequence.
nn::RowSelection last_rows(const nn::ForwardContext& context, int64_t count) {
  if (count == 1) {
    return nn::RowSelection::last_tokens(context);
  }
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    const auto end = context.layout.offsets[static_cast<std::size_t>(b) + 1];
    for (int64_t row = end - count; row < end; ++row) {
      rows.push_back(row);
    }
  }
  return nn::RowSelection::from_rows(rows, context, 0);
}

}  // namespace

bool can_generate(const Model& model) { return generates(model.options()); }

ModelDecoder::ModelDecoder(Model& model,
                           const DecodingOutput& output,
                           const std::vector<Prompt>& prompts)
    : model_(model),
      output_(model, output, prompts),
      prompts_(prompts),
      state_(static_cast<int64_t>(prompts.size())) {}

void ModelDecoder::read_sources() {
  std::vector<int64_t> ids;
  std::vector<int64_t> offsets{0};
  for (const auto& prompt : prompts_) {
    ids.insert(ids.end(), prompt.source.begin(), prompt.source.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  nn::ForwardContext context;
  context.layout = kernels::Layout::from_offsets(std::move(offsets), model_.device());
  encoder_states_.states =
      model_.encode({.ids = kernels::to_device(ids, model_.device()), .patches = {}}, context);
  encoder_states_.layout = context.layout;
  has_encoder_states_ = true;
}

at::Tensor ModelDecoder::step(const std::vector<int64_t>& ids,
                              const std::vector<int64_t>& counts,
                              int64_t last,
                              std::vector<int64_t> prefix_lengths) {
  const at::NoGradGuard guard;
  nn::ForwardContext context;
  context.layout = state_.begin_step(counts, model_.device());
  context.decoding_state = &state_;
  context.encoder_states = has_encoder_states_ ? &encoder_states_ : nullptr;
  context.prefix_lengths = std::move(prefix_lengths);
  std::optional<nn::AttentionRecorder> recorder;
  if (records_attention_) {
    context.attention_recorder = &recorder.emplace(source_attention_layers(model_.options()));
  }
  const TextInput input{.ids = kernels::to_device(ids, model_.device()), .types = {}};
  const auto rows = context.layout.tokens() == context.layout.sequences() * last
                        ? token_states(model_, input, context)
                        : selected_token_states(model_, input, context, last_rows(context, last));
  if (recorder) {
    source_attention_.clear();
    for (const auto& weights : last_source_attention(*recorder, model_.options())) {
      const auto row = weights[-1].contiguous();  // (S)
      source_attention_.emplace_back(row.const_data_ptr<float>(),
                                     row.const_data_ptr<float>() + row.numel());
    }
  }
  return output_.logits(rows, last);
}

void ModelDecoder::record_source_attention() {
  require_source(model_.options());
  records_attention_ = true;
}

at::Tensor ModelDecoder::first() {
  const at::NoGradGuard guard;
  if (is_encoder_decoder(model_.options())) {
    read_sources();
  }
  std::vector<int64_t> ids;
  std::vector<int64_t> counts;
  std::vector<int64_t> prefix_lengths;
  for (const auto& prompt : prompts_) {
    ids.insert(ids.end(), prompt.tokens.begin(), prompt.tokens.end());
    counts.push_back(static_cast<int64_t>(prompt.tokens.size()));
    if (model_.options().is_prefix_lm) {
      prefix_lengths.push_back(counts.back() - prompt.answer_tokens);
    }
  }
  return step(ids, counts, 1, std::move(prefix_lengths));
}

at::Tensor ModelDecoder::next(const std::vector<int64_t>& rows, const Tokens& tokens) {
  reorder(rows);
  return step(tokens, std::vector<int64_t>(tokens.size(), 1), 1);
}

void ModelDecoder::reorder(const std::vector<int64_t>& rows) {
  state_.reorder(rows);
  output_.reorder(rows);
}

at::Tensor ModelDecoder::extend(const std::vector<Tokens>& tokens, int64_t last) {
  Tokens ids;
  std::vector<int64_t> counts;
  for (const auto& own : tokens) {
    ids.insert(ids.end(), own.begin(), own.end());
    counts.push_back(static_cast<int64_t>(own.size()));
  }
  const auto logits = step(ids, counts, last);
  return logits.view({-1, last, logits.size(1)});
}

}  // namespace weft::models
