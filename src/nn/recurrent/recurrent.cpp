#include "nn/recurrent/recurrent.h"

#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/dropout.h"
#include "kernels/to_device.h"
#include "nn/block.h"
#include "nn/carried_state.h"
#include "nn/decoding_state.h"

namespace weft::nn {

namespace {

/// The same rows of what a cell keeps.
kernels::RecurrentState rows_of(const kernels::RecurrentState& x,
                                const std::vector<int64_t>& rows) {
  const auto indices = kernels::to_device(rows, x.state.device());
  return {
      .state = x.state.index_select(0, indices),
      .cell_state = x.cell_state.defined() ? x.cell_state.index_select(0, indices) : at::Tensor()};
}

/// The tensors of a state, by the name under which they are kept.
std::vector<std::pair<const char*, at::Tensor*>> parts_of(kernels::RecurrentState& state) {
  std::vector<std::pair<const char*, at::Tensor*>> parts = {{"state", &state.state}};
  if (state.cell_state.defined()) {
    parts.emplace_back("memory", &state.cell_state);
  }
  return parts;
}

/// Name of the carried state.
std::string carried_name(int64_t layer, const char* part) {
  return str_cat("recurrent.", layer, ".", part);
}

}  // namespace

Recurrent::Recurrent(const RecurrentOptions& options) : options_(options) {
  const CellOptions cell{.dim = options.input_dim > 0 ? options.input_dim : options.dim,
                         .width = options.width};
  cell_ = register_module("cell", options.make_cell(cell));
  cell_->set_weight_dropout(options.weight_dropout,
                            site_id(options.layer, RecurrentDropoutSite::kWeights));
  if (options.is_bidirectional) {
    reverse_cell_ = register_module("reverse_cell", options.make_cell(cell));
    reverse_cell_->set_weight_dropout(
        options.weight_dropout, site_id(options.layer, RecurrentDropoutSite::kReverseWeights));
  }
  if (options.has_output_projection) {
    output_ = register_module("output", Linear(LinearOptions{states_width(), options.dim}));
  }
}

int64_t Recurrent::states_width() const {
  return (options_.is_bidirectional ? 2 : 1) * cell_->state_width();
}

std::optional<int64_t> Recurrent::output_dim() const {
  return output_ ? options_.dim : states_width();
}

kernels::RecurrentState Recurrent::state_before(const at::Tensor& x,
                                                const ForwardContext& context) const {
  auto before = cell_->initial_state(context.layout.sequences(), x);
  for (const auto& [name, tensor] : parts_of(before)) {
    if (context.decoding_state != nullptr) {
      const auto& kept =
          context.decoding_state->sequence_tensor(context.depth(options_.layer), name);
      *tensor = kept.defined() ? kept : *tensor;
    } else if (context.carried_state != nullptr) {
      for (std::size_t b = 0; b < context.streams.size(); ++b) {
        const auto carried = context.carried_state->get(
            context.streams[b], carried_name(context.depth(options_.layer), name));
        if (carried.defined()) {
          (*tensor)[static_cast<int64_t>(b)].copy_(carried);
        }
      }
    }
  }
  return before;
}

void Recurrent::keep_state(const kernels::RecurrentState& before,
                           const kernels::RecurrentState& by_time,
                           const TimeSteps& steps,
                           const ForwardContext& context) const {
  const bool is_carried = context.carried_state != nullptr && !context.streams.empty();
  if (context.decoding_state == nullptr && !is_carried) {
    return;
  }
  std::vector<int64_t> sequences;
  std::vector<int64_t> places;  // of their last tokens
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    if (context.layout.length(b) > 0) {
      sequences.push_back(b);
      const auto end = context.layout.offsets[static_cast<std::size_t>(b) + 1];
      places.push_back(steps.places[static_cast<std::size_t>(end) - 1]);
    }
  }
  // Sequences without new tokens keep theirs.
  const auto rows = kernels::to_device(sequences, before.state.device());
  const auto last = rows_of(by_time, places);
  kernels::RecurrentState after{
      .state = before.state.index_copy(0, rows, last.state),
      .cell_state = before.cell_state.defined()
                        ? before.cell_state.index_copy(0, rows, last.cell_state)
                        : at::Tensor()};
  for (const auto& [name, tensor] : parts_of(after)) {
    if (context.decoding_state != nullptr) {
      context.decoding_state->sequence_tensor(context.depth(options_.layer), name) = *tensor;
      continue;
    }
    for (std::size_t b = 0; b < context.streams.size(); ++b) {
      context.carried_state->set(context.streams[b],
                                 carried_name(context.depth(options_.layer), name),
                                 (*tensor)[static_cast<int64_t>(b)].clone());
    }
  }
}

at::Tensor Recurrent::forward_states(const at::Tensor& x, const ForwardContext& context) {
  const auto steps = time_steps_of(context.layout);
  const auto before = state_before(x, context);
  const auto by_time = cell_->states(x, rows_of(before, steps.sequences), steps, context);
  keep_state(before, by_time, steps, context);
  return kernels::permuted_rows(by_time.state, steps.places, steps.tokens);
}

at::Tensor Recurrent::sequence_dropout(const at::Tensor& x,
                                       RecurrentDropoutSite site,
                                       const ForwardContext& context) const {
  const double rate = context.rate(options_.variational_dropout);
  if (rate == 0) {
    return x;
  }
  const auto& layout = context.layout;
  const auto mask = kernels::dropout(at::ones({layout.sequences(), x.size(1)}, x.options()), rate,
                                     context.sequence_rng_key(site_id(options_.layer, site)));
  return x * mask.repeat_interleave(layout.device_lengths(), 0);
}

at::Tensor Recurrent::states(const at::Tensor& input, const ForwardContext& context) {
  TORCH_CHECK(
      context.decoding_state == nullptr || (!context.is_training && reverse_cell_ == nullptr),
      "a recurrent layer with a decoding state reads forward, and is for inference only");
  const auto x = sequence_dropout(input, RecurrentDropoutSite::kInput, context);
  const auto forward = forward_states(x, context);
  return sequence_dropout(
      reverse_cell_ == nullptr
          ? forward
          : at::cat({forward, reverse_cell_->token_states(x, /*is_reverse=*/true, context)}, 1),
      RecurrentDropoutSite::kStates, context);
}

at::Tensor Recurrent::forward(const at::Tensor& x, const ForwardContext& context) {
  const auto all = states(x, context);
  return output_ ? output_->forward(all, context) : all;  // (N, D), or (N, S)
}

at::Tensor Recurrent::forward_selected(const at::Tensor& x,
                                       const ForwardContext& context,
                                       const RowSelection& selection) {
  const auto selected = selection.select(states(x, context));
  return output_ ? output_->forward(selected, selection.select(context)) : selected;  // (M, D)
}

SublayerDefinition::Maker read_recurrent(config::Section& section) {
  const auto& registry = recurrent_cells();
  std::string name = "gru";
  section.read_name("cell", name, registry.names(),
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
  bool has_output_projection = true;
  section.read("output_projection", has_output_projection,
               {.help = "A product of the state with a matrix is the output, of width dim. false: "
                        "the state itself is, as in torch.nn.LSTM. Its width must be dim, unless "
                        "residual.type is none and the next layer is recurrent, too."});
  double weight_dropout = 0;
  section.read("weight_dropout", weight_dropout,
               {.help = "Dropout probability of the weights between one state and the next, with "
                        "one mask in each step (AWD-LSTM, arXiv:1708.02182).",
                .range = config::half_open(0, 1)});
  double variational_dropout = 0;
  section.read("variational_dropout", variational_dropout,
               {.help = "Dropout probability of the layer's input and of its states, with one mask "
                        "for all tokens of a sequence (arXiv:1512.05287).",
                .range = config::half_open(0, 1)});
  if (section.is_documenting()) {
    document_components(section, "cell", registry);
    return {};
  }
  return [width, is_bidirectional, has_output_projection, weight_dropout, variational_dropout,
          make_cell = registry.at(name).read(section)](const BlockOptions& options) {
    if (is_bidirectional && options.attention.is_causal) {
      throw config::Error(
          "model.recurrent.bidirectional: must be false, as the model generates from left to "
          "right");
    }
    return std::make_shared<Recurrent>(
        RecurrentOptions{.dim = options.dim(),
                         .input_dim = options.input_width(),
                         .width = width.value_or(options.dim()),
                         .layer = options.layer,
                         .make_cell = make_cell,
                         .is_bidirectional = is_bidirectional,
                         .has_output_projection = has_output_projection,
                         .weight_dropout = weight_dropout,
                         .variational_dropout = variational_dropout});
  };
}

}  // namespace weft::nn
