#include "batching/hidden_states.h"

#include <algorithm>

#include "batching/stage.h"
#include "kernels/to_device.h"

namespace weft::batching {

namespace {

bool has_prefixes(const data::Batch& batch) {
  return std::any_of(batch.prefixes.begin(), batch.prefixes.end(),
                     [](int64_t count) { return count > 0; });
}

/// The batch's hidden states, or those of the chosen rows.
at::Tensor states(models::Model& model,
                  const data::Batch& batch,
                  const nn::Pass& pass,
                  const nn::ChosenRows* rows) {
  const auto input = stage_input(batch, pass.layout.positions.device());
  return rows == nullptr ? model.hidden(input, pass) : model.hidden_rows(input, pass, *rows);
}

/// The same where sources are read first and prefixes both ways.
at::Tensor states_after_source(models::Model& model,
                               const data::Batch& batch,
                               const nn::Pass& pass,
                               const nn::ChosenRows* rows) {
  const auto device = pass.layout.positions.device();
  auto shown = pass;
  if (batch.source_ids.empty()) {
    if (has_prefixes(batch)) {
      shown.prefixes = batch.prefixes;
    }
    return states(model, batch, shown, rows);
  }
  auto source = pass;
  source.layout = kernels::Layout::of(batch.source_offsets, device);
  source.first_row = pass.first_source_row;
  const nn::Memory memory{
      .states = model.encode({.ids = kernels::to_device(batch.source_ids, device), .patches = {}},
                             source),
      .layout = source.layout};
  shown.memory = &memory;
  return states(model, batch, shown, rows);
}

}  // namespace

at::Tensor hidden_states(models::Model& model, const data::Batch& batch, const nn::Pass& pass) {
  return states_after_source(model, batch, pass, nullptr);
}

nn::ChosenRows target_rows(const data::Batch& batch, const nn::Pass& pass) {
  return nn::ChosenRows::of(batch.target_rows, pass, pass.first_target);
}

at::Tensor target_states(models::Model& model, const data::Batch& batch, const nn::Pass& pass) {
  if (static_cast<int64_t>(batch.target_rows.size()) == batch.tokens()) {
    return hidden_states(model, batch, pass);
  }
  const auto rows = target_rows(batch, pass);
  return states_after_source(model, batch, pass, &rows);
}

at::Tensor tag_logits(models::Model& model,
                      const models::TextInput& input,
                      const data::Batch& batch,
                      const nn::Pass& pass) {
  const auto rows = target_rows(batch, pass);
  return model.token_logits(model.hidden_rows(input, pass, rows), rows.of(pass));  // (M, C)
}

void go_past(const data::Batch& batch, nn::Pass& pass) {
  pass.first_row += batch.tokens();
  pass.first_sequence += batch.sequences();
  pass.first_target += static_cast<int64_t>(batch.target_rows.size());
  pass.first_source_row += batch.source_tokens();
}

}  // namespace weft::batching
