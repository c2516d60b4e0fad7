#include "batching/hidden_states.h"

#include <algorithm>

#include <ATen/Functions.h>

#include "batching/device_batch.h"
#include "kernels/to_device.h"
#include "models/model.h"

namespace weft::batching {

namespace {

bool has_prefixes(const data::Batch& batch) {
  return std::any_of(batch.prefix_lengths.begin(), batch.prefix_lengths.end(),
                     [](int64_t count) { return count > 0; });
}

/// The batch's states, or those of the selected rows.
nn::TokenStates states(models::Model& model,
                       const data::Batch& batch,
                       const nn::ForwardContext& context,
                       const nn::RowSelection* rows) {
  const auto input = input_to_device(batch, context.layout.positions.device());
  return rows == nullptr ? models::token_states(model, input, context)
                         : models::selected_token_states(model, input, context, *rows);
}

/// The same, after running the encoder on the sources and with the prefixes in the context.
nn::TokenStates states_with_source(models::Model& model,
                                   const data::Batch& batch,
                                   const nn::ForwardContext& context,
                                   const nn::RowSelection* rows) {
  const auto device = context.layout.positions.device();
  auto decoder_context = context;
  if (batch.source_ids.empty()) {
    if (has_prefixes(batch)) {
      decoder_context.prefix_lengths = batch.prefix_lengths;
    }
    return states(model, batch, decoder_context, rows);
  }
  auto encoder_context = context;
  encoder_context.layout = kernels::Layout::from_offsets(batch.source_offsets, device);
  encoder_context.first_row = context.first_source_row;
  encoder_context.earlier_lengths = context.earlier_source_lengths;
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = kernels::to_device(batch.source_ids, device), .patches = {}},
                             encoder_context),
      .layout = encoder_context.layout};
  decoder_context.encoder_states = &encoder_states;
  return states(model, batch, decoder_context, rows);
}

/// Appends the lengths of the sequences with these offsets.
void add_lengths(const std::vector<int64_t>& offsets, std::vector<int64_t>& lengths) {
  for (std::size_t b = 1; b < offsets.size(); ++b) {
    lengths.push_back(offsets[b] - offsets[b - 1]);
  }
}

void append(const std::vector<int64_t>& values, std::vector<int64_t>& all) {
  all.insert(all.end(), values.begin(), values.end());
}

}  // namespace

at::Tensor hidden_states(models::Model& model,
                         const data::Batch& batch,
                         const nn::ForwardContext& context) {
  return states_with_source(model, batch, context, nullptr).states;
}

nn::RowSelection target_rows(const data::Batch& batch, const nn::ForwardContext& context) {
  return nn::RowSelection::from_rows(batch.target_rows, context, context.first_target);
}

at::Tensor target_histories(models::Model& model,
                            const data::Batch& batch,
                            const nn::ForwardContext& context) {
  return model.selected_histories(input_to_device(batch, context.layout.positions.device()),
                                  context, target_rows(batch, context));
}

nn::TokenStates target_states(models::Model& model,
                              const data::Batch& batch,
                              const nn::ForwardContext& context) {
  if (static_cast<int64_t>(batch.target_rows.size()) == batch.tokens()) {
    return states_with_source(model, batch, context, nullptr);
  }
  const auto rows = target_rows(batch, context);
  return states_with_source(model, batch, context, &rows);
}

at::Tensor tag_logits(models::Model& model,
                      const models::TextInput& input,
                      const data::Batch& batch,
                      const nn::ForwardContext& context) {
  const auto rows = target_rows(batch, context);
  return model.token_logits(model.selected_hidden_states(input, context, rows),
                            rows.select(context));  // (M, C)
}

at::Tensor zero_loss(const at::Tensor& x) { return x.slice(0, 0, 0).sum().to(at::kFloat); }

void advance_offsets(const data::Batch& batch, nn::ForwardContext& context) {
  add_lengths(batch.offsets, *context.earlier_lengths);
  add_lengths(batch.source_offsets, context.earlier_source_lengths);
  append(batch.sentence_lengths, context.earlier_sentences.lengths);
  append(batch.sentence_counts, context.earlier_sentences.counts);
  if (!batch.sentence_counts.empty()) {
    append(batch.targets_per_row(), context.earlier_sentences.targets);
  }
  context.first_row += batch.tokens();
  context.first_sequence += batch.sequences();
  context.first_target += static_cast<int64_t>(batch.target_rows.size());
  context.first_source_row += batch.source_tokens();
}

}  // namespace weft::batching
