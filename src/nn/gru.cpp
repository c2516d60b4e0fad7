#include "nn/gru.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/to_device.h"
#include "nn/block.h"
#include "nn/carried_state.h"
#include "nn/decoding_state.h"

namespace weft::nn {

namespace {

constexpr auto kState = "state";

/// A packed batch in the order of computation: the first token of each sequence, the second ones,
/// ... Longer sequences come first, so those that continue are always the first rows of the state.
struct TimeSteps {
  std::vector<int64_t> sequences;  // by falling length
  std::vector<int64_t> counts;     // tokens of each step
  std::vector<int64_t> tokens;     // N: the token at each place of this order
  std::vector<int64_t> places;     // N: the place of each token
};

TimeSteps time_steps_of(const kernels::Layout& layout) {
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
      if (layout.length(b) <= time) {
        break;
      }
      const auto token = layout.offsets[static_cast<std::size_t>(b)] + time;
      steps.places[static_cast<std::size_t>(token)] = static_cast<int64_t>(steps.tokens.size());
      steps.tokens.push_back(token);
    }
    steps.counts.push_back(static_cast<int64_t>(steps.tokens.size() - first));
  }
  return steps;
}

/// The states (B, H) after the last tokens, for the next pass; `states` (N, H). Sequences without
/// new tokens keep theirs.
at::Tensor last_states(const at::Tensor& before,
                       const at::Tensor& states,
                       const kernels::Layout& layout) {
  std::vector<int64_t> sequences;
  std::vector<int64_t> tokens;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    if (layout.length(b) > 0) {
      sequences.push_back(b);
      tokens.push_back(layout.offsets[static_cast<std::size_t>(b) + 1] - 1);
    }
  }
  return before.index_copy(0, kernels::to_device(sequences, states.device()),
                           states.index_select(0, kernels::to_device(tokens, states.device())));
}

}  // namespace

Gru::Gru(const GruOptions& options)
    : options_(options), name_(str_cat("recurrent.", options.layer)) {
  const int64_t gates = 3 * options.width;
  input_ = register_module("input", Linear(LinearOptions{options.dim, gates}));
  hidden_ = register_module("hidden", Linear(LinearOptions{options.width, gates}));
  output_ = register_module("output", Linear(LinearOptions{options.width, options.dim}));
}

at::Tensor Gru::next_state(const at::Tensor& gates,
                           const at::Tensor& state,
                           const ForwardContext& context) {
  const auto from_input = gates.chunk(3, 1);
  const auto from_state = hidden_->forward(state, context).chunk(3, 1);
  const auto reset = at::sigmoid(from_input[0] + from_state[0]);
  const auto update = at::sigmoid(from_input[1] + from_state[1]);
  const auto candidate = at::tanh(from_input[2] + reset * from_state[2]);
  return candidate + update * (state - candidate);  // (1 - z) n + z h
}

at::Tensor Gru::states_before(const at::Tensor& gates, const ForwardContext& context) const {
  auto zeros = gates.new_zeros({context.layout.sequences(), options_.width});
  if (context.decoding_state != nullptr) {
    const auto& kept = context.decoding_state->sequence_tensor(options_.layer, kState);
    return kept.defined() ? kept : zeros;
  }
  if (context.carried_state == nullptr) {
    return zeros;
  }
  for (std::size_t b = 0; b < context.streams.size(); ++b) {
    const auto carried = context.carried_state->get(context.streams[b], name_);
    if (carried.defined()) {
      zeros[static_cast<int64_t>(b)].copy_(carried);
    }
  }
  return zeros;
}

void Gru::keep_states(const at::Tensor& before,
                      const at::Tensor& states,
                      const ForwardContext& context) const {
  const bool is_carried = context.carried_state != nullptr && !context.streams.empty();
  if (context.decoding_state == nullptr && !is_carried) {
    return;
  }
  const auto last = last_states(before, states, context.layout);
  if (context.decoding_state != nullptr) {
    context.decoding_state->sequence_tensor(options_.layer, kState) = last;
    return;
  }
  for (std::size_t b = 0; b < context.streams.size(); ++b) {
    context.carried_state->set(context.streams[b], name_, last[static_cast<int64_t>(b)].clone());
  }
}

at::Tensor Gru::states(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(context.decoding_state == nullptr || !context.is_training,
              "a GRU with a decoding state is for inference only");
  const auto steps = time_steps_of(context.layout);
  const auto gates = input_->forward(x, context);     // (N, 3 H)
  const auto before = states_before(gates, context);  // (B, H)
  auto state = before.index_select(0, kernels::to_device(steps.sequences, x.device()));
  const auto by_time = gates.index_select(0, kernels::to_device(steps.tokens, x.device()))
                           .split_with_sizes(steps.counts);
  std::vector<at::Tensor> all{state.narrow(0, 0, 0)};  // also if there are no tokens
  for (const auto& step : by_time) {
    state = next_state(step, state.narrow(0, 0, step.size(0)), context);
    all.push_back(state);
  }
  const auto result =
      at::cat(all).index_select(0, kernels::to_device(steps.places, x.device()));  // (N, H)
  keep_states(before, result, context);
  return result;
}

at::Tensor Gru::forward(const at::Tensor& x, const ForwardContext& context) {
  return output_->forward(states(x, context), context);  // (N, D)
}

at::Tensor Gru::forward_selected(const at::Tensor& x,
                                 const ForwardContext& context,
                                 const RowSelection& selection) {
  return output_->forward(selection.select(states(x, context)),
                          selection.select(context));  // (M, D)
}

SublayerDefinition::Maker read_gru(config::Section& section) {
  std::optional<int64_t> width;
  section.read("width", width,
               {.help = "Width of the recurrent state; null: dim of the model.",
                .unit = "features",
                .range = config::between(1, 1 << 20)});
  return [width](const BlockOptions& options) {
    return std::make_shared<Gru>(GruOptions{
        .dim = options.dim(), .width = width.value_or(options.dim()), .layer = options.layer});
  };
}

}  // namespace weft::nn
