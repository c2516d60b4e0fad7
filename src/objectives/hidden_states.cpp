#include "objectives/hidden_states.h"

#include <algorithm>

#include "kernels/to_device.h"
#include "objectives/objective.h"

namespace weft::objectives {

namespace {

bool has_prefixes(const data::Batch& batch) {
  return std::any_of(batch.prefixes.begin(), batch.prefixes.end(),
                     [](int64_t count) { return count > 0; });
}

}  // namespace

at::Tensor hidden_states(models::Model& model, const data::Batch& batch, const nn::Pass& pass) {
  const auto device = pass.layout.positions.device();
  if (batch.source_ids.empty()) {
    auto shown = pass;
    if (has_prefixes(batch)) {
      shown.prefixes = batch.prefixes;
    }
    return model.hidden(stage_input(batch, device), shown);
  }
  auto source = pass;
  source.layout = kernels::Layout::of(batch.source_offsets, device);
  source.first_row = pass.first_source_row;
  const nn::Memory memory{
      .states = model.encode({.ids = kernels::to_device(batch.source_ids, device), .patches = {}},
                             source),
      .layout = source.layout};
  auto target = pass;
  target.memory = &memory;
  return model.hidden(stage_input(batch, device), target);
}

void go_past(const data::Batch& batch, nn::Pass& pass) {
  pass.first_row += batch.tokens();
  pass.first_sequence += batch.sequences();
  pass.first_source_row += batch.source_tokens();
}

}  // namespace weft::objectives
