#include "nn/depth/sequence_selection.h"

#include <numeric>
#include <utility>

#include <ATen/Functions.h>

#include "kernels/to_device.h"
#include "nn/row_selection.h"

namespace weft::nn {

namespace {

struct SelectedLayout {
  kernels::Layout layout;
  at::Tensor rows;
};

SelectedLayout select_layout(const kernels::Layout& all, const std::vector<int64_t>& sequences) {
  const auto device = all.positions.device();
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> rows;
  for (const auto b : sequences) {
    const auto begin = rows.size();
    rows.resize(begin + static_cast<std::size_t>(all.length(b)));
    std::iota(rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.end(),
              all.offsets[static_cast<std::size_t>(b)]);
    offsets.push_back(static_cast<int64_t>(rows.size()));
  }
  SelectedLayout result{.layout = kernels::Layout::from_offsets(std::move(offsets), device),
                        .rows = kernels::to_device(rows, device)};
  result.layout.positions = all.positions.index_select(0, result.rows);
  result.layout.position_limit = all.position_limit;
  return result;
}

std::vector<int64_t> selected(const std::vector<int64_t>& all,
                              const std::vector<int64_t>& sequences) {
  std::vector<int64_t> result;
  if (!all.empty()) {
    for (const auto b : sequences) {
      result.push_back(all[static_cast<std::size_t>(b)]);
    }
  }
  return result;
}

at::Tensor selected(const at::Tensor& all, const at::Tensor& rows) {
  return all.defined() ? all.index_select(0, rows) : all;
}

}  // namespace

SequenceSelection SequenceSelection::of(const std::vector<int64_t>& sequences,
                                        const ForwardContext& context) {
  auto own = select_layout(context.layout, sequences);
  SequenceSelection result{.rows = std::move(own.rows), .context = context};
  result.context.layout = std::move(own.layout);
  result.context.streams = selected(context.streams, sequences);
  result.context.prefix_lengths = selected(context.prefix_lengths, sequences);
  result.context.token_types = selected(context.token_types, result.rows);
  if (context.memory_slots.defined()) {
    const auto& slots = context.memory_slots;  // (B, k, D)
    result.context.memory_slots =
        select_distinct_rows(slots.flatten(1), kernels::to_device(sequences, slots.device()))
            .unflatten(1, {slots.size(1), slots.size(2)});
  }
  if (context.encoder_states != nullptr) {
    const auto& states = *context.encoder_states;
    auto source = select_layout(states.layout, sequences);
    result.encoder_states = std::make_shared<const EncoderStates>(
        EncoderStates{.states = select_distinct_rows(states.states, source.rows),
                      .layout = std::move(source.layout),
                      .stride = states.stride,
                      .token_types = selected(states.token_types, source.rows)});
    result.context.encoder_states = result.encoder_states.get();
  }
  return result;
}

at::Tensor SequenceSelection::select(const at::Tensor& x) const {
  return select_distinct_rows(x, rows);
}

at::Tensor SequenceSelection::scatter(const at::Tensor& selected, int64_t tokens) const {
  return scatter_distinct_rows(selected, rows, tokens);
}

}  // namespace weft::nn
