#include "nn/recurrent/recurrent.h"

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
constexpr auto kMemory = "memory";

at::Tensor rows_of(const at::Tensor& x, const std::vector<int64_t>& rows) {
  return x.defined() ? x.index_select(0, kernels::to_device(rows, x.device())) : x;
}

/// The rows (B, ...) after the last tokens, for the next pass; `after` (N, ...). Sequences without
/// new tokens keep theirs.
at::Tensor last_rows(const at::Tensor& before,
                     const at::Tensor& after,
                     const kernels::Layout& layout) {
  std::vector<int64_t> sequences;
  std::vector<int64_t> tokens;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    if (layout.length(b) > 0) {
      sequences.push_back(b);
      tokens.push_back(layout.offsets[static_cast<std::size_t>(b) + 1] - 1);
    }
  }
  return before.index_copy(0, kernels::to_device(sequences, after.device()),
                           rows_of(after, tokens));
}

/// Calls visit(name, before, after) for what a cell keeps.
template <class Visit>
void visit_kept(const kernels::RecurrentState& before,
                const kernels::RecurrentState& after,
                const Visit& visit) {
  visit(kState, before.state, after.state);
  if (before.memory.defined()) {
    visit(kMemory, before.memory, after.memory);
  }
}

/// Name of the carried state.
std::string carried_name(int64_t layer, const std::string& part) {
  return str_cat("recurrent.", layer, ".", part);
}

}  // namespace

Recurrent::Recurrent(const RecurrentOptions& options) : options_(options) {
  const CellOptions cell{.dim = options.dim, .width = options.width};
  cell_ = register_module("cell", options.make_cell(cell));
  if (options.is_bidirectional) {
    reverse_cell_ = register_module("reverse_cell", options.make_cell(cell));
  }
  const int64_t directions = options.is_bidirectional ? 2 : 1;
  output_ = register_module("output",
                            Linear(LinearOptions{directions * cell_->state_width(), options.dim}));
}

kernels::RecurrentState Recurrent::state_before(const at::Tensor& x,
                                                const ForwardContext& context) const {
  auto initial = cell_->initial_state(context.layout.sequences(), x);
  if (context.decoding_state != nullptr) {
    const auto kept = [&](const at::Tensor& zeros, const char* name) {
      const auto& tensor = context.decoding_state->sequence_tensor(options_.layer, name);
      return tensor.defined() ? tensor : zeros;
    };
    return {.state = kept(initial.state, kState),
            .memory = initial.memory.defined() ? kept(initial.memory, kMemory) : at::Tensor()};
  }
  if (context.carried_state == nullptr) {
    return initial;
  }
  for (std::size_t b = 0; b < context.streams.size(); ++b) {
    visit_kept(initial, initial,
               [&](const char* name, const at::Tensor& zeros, const at::Tensor& /*same*/) {
                 const auto carried = context.carried_state->get(
                     context.streams[b], carried_name(options_.layer, name));
                 if (carried.defined()) {
                   zeros[static_cast<int64_t>(b)].copy_(carried);
                 }
               });
  }
  return initial;
}

void Recurrent::keep_state(const kernels::RecurrentState& before,
                           const kernels::RecurrentState& after,
                           const ForwardContext& context) const {
  const bool is_carried = context.carried_state != nullptr && !context.streams.empty();
  if (context.decoding_state == nullptr && !is_carried) {
    return;
  }
  visit_kept(before, after,
             [&](const char* name, const at::Tensor& earlier, const at::Tensor& states) {
               const auto last = last_rows(earlier, states, context.layout);
               if (context.decoding_state != nullptr) {
                 context.decoding_state->sequence_tensor(options_.layer, name) = last;
                 return;
               }
               for (std::size_t b = 0; b < context.streams.size(); ++b) {
                 context.carried_state->set(context.streams[b], carried_name(options_.layer, name),
                                            last[static_cast<int64_t>(b)].clone());
               }
             });
}

at::Tensor Recurrent::forward_states(const at::Tensor& x, const ForwardContext& context) {
  const auto steps = time_steps_of(context.layout);
  const auto before = state_before(x, context);
  const auto by_time = cell_->states(x,
                                     {.state = rows_of(before.state, steps.sequences),
                                      .memory = rows_of(before.memory, steps.sequences)},
                                     steps, context);
  auto states = kernels::permuted_rows(by_time.state, steps.places, steps.tokens);
  keep_state(before, {.state = states, .memory = rows_of(by_time.memory, steps.places)}, context);
  return states;
}

at::Tensor Recurrent::reverse_states(const at::Tensor& x, const ForwardContext& context) {
  const auto steps = time_steps_of(context.layout, /*is_reverse=*/true);
  const auto by_time = reverse_cell_->states(
      x, reverse_cell_->initial_state(context.layout.sequences(), x), steps, context);
  return kernels::permuted_rows(by_time.state, steps.places, steps.tokens);
}

at::Tensor Recurrent::states(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(
      context.decoding_state == nullptr || (!context.is_training && reverse_cell_ == nullptr),
      "a recurrent layer with a decoding state reads forward, and is for inference only");
  const auto forward = forward_states(x, context);
  return reverse_cell_ == nullptr ? forward : at::cat({forward, reverse_states(x, context)}, 1);
}

at::Tensor Recurrent::forward(const at::Tensor& x, const ForwardContext& context) {
  return output_->forward(states(x, context), context);  // (N, D)
}

at::Tensor Recurrent::forward_selected(const at::Tensor& x,
                                       const ForwardContext& context,
                                       const RowSelection& selection) {
  return output_->forward(selection.select(states(x, context)),
                          selection.select(context));  // (M, D)
}

SublayerDefinition::Maker read_recurrent(config::Section& section) {
  const auto& registry = recurrent_cells();
  config::Choices<std::string> names;
  for (const auto& definition : registry.all()) {
    names.emplace_back(definition.name, definition.name);
  }
  auto name = names.front().second;
  section.read_choice("cell", name, names,
                      {.help = "Type of the recurrent cell.", .suggests_nearest = true});
  std::optional<int64_t> width;
  section.read("width", width,
               {.help = "Width of the recurrent state; null: dim of the model.",
                .unit = "features",
                .range = config::between(1, 1 << 20)});
  bool is_bidirectional = false;
  section.read("bidirectional", is_bidirectional,
               {.help = "A second cell reads each sequence from its end; not for models that "
                        "generate."});
  if (section.is_documenting()) {
    for (const auto& definition : registry.all()) {
      auto own = section.only_with(str_cat("cell: ", definition.name));
      definition.read(own);
    }
    return {};
  }
  return [width, is_bidirectional,
          make_cell = registry.at(name).read(section)](const BlockOptions& options) {
    if (is_bidirectional && options.attention.is_causal) {
      throw config::Error(
          "model.recurrent.bidirectional: must be false, as the model generates from left to "
          "right");
    }
    return std::make_shared<Recurrent>(RecurrentOptions{.dim = options.dim(),
                                                        .width = width.value_or(options.dim()),
                                                        .layer = options.layer,
                                                        .make_cell = make_cell,
                                                        .is_bidirectional = is_bidirectional});
  };
}

}  // namespace weft::nn
