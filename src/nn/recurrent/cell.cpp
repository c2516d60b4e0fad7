#include "nn/recurrent/cell.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

Registry<RecurrentCellDefinition>& cell_registry() {
  static Registry<RecurrentCellDefinition> registry(
      "recurrent cell", {{"gru", read_gru}, {"lstm", read_lstm}, {"rnn", read_rnn}});
  return registry;
}

at::Tensor joined(const std::vector<at::Tensor>& parts) {
  return parts.front().defined() ? at::cat(parts) : at::Tensor();
}

at::Tensor first_rows(const at::Tensor& x, int64_t count) {
  return x.defined() ? x.narrow(0, 0, count) : x;
}

}  // namespace

TimeSteps time_steps_of(const kernels::Layout& layout, bool is_reverse) {
  TimeSteps steps;
  steps.sequences.resize(layout.offsets.size() - 1);
  std::iota(steps.sequences.begin(), steps.sequences.end(), 0);
  std::stable_sort(steps.sequences.begin(), steps.sequences.end(),
                   [&](int64_t a, int64_t b) { return layout.length(a) > layout.length(b); });
  steps.places.resize(static_cast<std::size_t>(layout.tokens()));
  while (steps.tokens.size() < steps.places.size()) {
    const auto time = static_cast<int64_t>(steps.counts.size());
    const auto first = steps.tokens.size();
    for (const auto b : steps.sequences) {
      const auto length = layout.length(b);
      if (length <= time) {
        break;
      }
      const auto token =
          layout.offsets[static_cast<std::size_t>(b)] + (is_reverse ? length - 1 - time : time);
      steps.places[static_cast<std::size_t>(token)] = static_cast<int64_t>(steps.tokens.size());
      steps.tokens.push_back(token);
    }
    steps.counts.push_back(static_cast<int64_t>(steps.tokens.size() - first));
  }
  return steps;
}

RecurrentCell::RecurrentCell(const CellOptions& options, int64_t gates, int64_t state_width)
    : options_(options), state_width_(state_width) {
  input_ = register_module("input", Linear(LinearOptions{options.dim, gates * options.width}));
  hidden_ = register_module("hidden", Linear(LinearOptions{state_width, gates * options.width}));
}

kernels::RecurrentState RecurrentCell::initial_state(int64_t sequences, const at::Tensor& x) const {
  return {.state = x.new_zeros({sequences, state_width_}), .cell_state = {}};
}

kernels::RecurrentState RecurrentCell::step(const at::Tensor& from_input,
                                            const kernels::RecurrentState& before,
                                            const ForwardContext& context) {
  const auto own = rule();
  TORCH_CHECK(own.has_value(), "a recurrent cell without a rule computes its own steps");
  const auto from_state = [&](const at::Tensor& state) { return hidden_->forward(state, context); };
  auto after = kernels::cell_step(*own, from_input, from_state, before);
  if (projection_) {
    after.state = kernels::clipped_state(*own, projection_->forward(after.state, context));
  }
  return after;
}

bool RecurrentCell::is_fused(const at::Tensor& by_time) const {
  return rule() && by_time.size(0) > 0 && kernels::has_recurrent_kernel(by_time) &&
         hidden_->has_fused_path() && (!projection_ || projection_->has_fused_path());
}

kernels::RecurrentState RecurrentCell::states_by_step(const at::Tensor& by_time,
                                                      const kernels::RecurrentState& before,
                                                      const std::vector<int64_t>& counts,
                                                      const ForwardContext& context) {
  auto last = before;
  // Also if there are no tokens.
  std::vector<at::Tensor> states{first_rows(before.state, 0)};
  std::vector<at::Tensor> cell_states{first_rows(before.cell_state, 0)};
  for (const auto& from_input : by_time.split_with_sizes(counts)) {
    const auto rows = from_input.size(0);
    last = step(
        from_input,
        {.state = first_rows(last.state, rows), .cell_state = first_rows(last.cell_state, rows)},
        context);
    states.push_back(last.state);
    cell_states.push_back(last.cell_state);
  }
  return {.state = joined(states), .cell_state = joined(cell_states)};
}

kernels::RecurrentState RecurrentCell::states(const at::Tensor& x,
                                              const kernels::RecurrentState& before,
                                              const TimeSteps& steps,
                                              const ForwardContext& context) {
  // In the order of the tokens, as dropout is keyed.
  const auto from_input = input_->forward(x, context);
  const auto by_time = kernels::permuted_rows(from_input, steps.tokens, steps.places);
  const auto offsets = gate_offsets();
  if (is_fused(by_time)) {
    const kernels::CellWeights weights{
        .state = hidden_->weight(context),
        .bias = offsets.defined() ? hidden_->bias() + offsets : hidden_->bias(),
        .projection = projection_ ? projection_->weight() : at::Tensor()};
    return kernels::recurrent_states(*rule(), by_time, weights, before, steps.counts);
  }
  return states_by_step(offsets.defined() ? by_time + offsets : by_time, before, steps.counts,
                        context);
}

at::Tensor RecurrentCell::token_states(const at::Tensor& x,
                                       bool is_reverse,
                                       const ForwardContext& context) {
  const auto steps = time_steps_of(context.layout, is_reverse);
  const auto before = initial_state(context.layout.sequences(), x);
  return kernels::permuted_rows(states(x, before, steps, context).state, steps.places,
                                steps.tokens);
}

kernels::RecurrentState RecurrentCell::next(const at::Tensor& x,
                                            const kernels::RecurrentState& before,
                                            const ForwardContext& context) {
  const auto from_input = input_->forward(x, context);
  const auto offsets = gate_offsets();
  return step(offsets.defined() ? from_input + offsets : from_input, before, context);
}

const Registry<RecurrentCellDefinition>& recurrent_cells() { return cell_registry(); }

void register_recurrent_cell(const RecurrentCellDefinition& definition) {
  cell_registry().add(definition);
}

}  // namespace weft::nn
