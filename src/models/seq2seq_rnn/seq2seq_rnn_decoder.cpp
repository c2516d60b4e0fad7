#include <tuple>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/dropout.h"
#include "kernels/recurrent.h"
#include "kernels/to_device.h"
#include "models/seq2seq_rnn/seq2seq_rnn.h"
#include "nn/decoding_state.h"
#include "nn/dropout_sites.h"

namespace weft::models {

namespace {

uint32_t decoder_site(const ModelOptions& options, std::size_t layer) {
  return nn::site_id(options.layers + static_cast<int64_t>(layer),
                     nn::BlockDropoutSite::kAttentionOutput);
}

/// What kernels::dropout multiplies with, in the order of computation; undefined without dropout.
at::Tensor dropout_mask(const at::Tensor& like,
                        int64_t width,
                        double rate,
                        const kernels::RngKey& key,
                        const nn::TimeSteps& steps) {
  if (rate == 0) {
    return {};
  }
  const auto ones = at::ones({like.size(0), width}, like.options().requires_grad(false));
  return kernels::permuted_rows(kernels::dropout(ones, rate, key), steps.tokens, steps.places);
}

/// For each token of a batch its place in the padded one.
std::vector<int64_t> padded_places(const kernels::Layout& layout) {
  std::vector<int64_t> places;
  places.reserve(static_cast<std::size_t>(layout.tokens()));
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    for (int64_t i = 0; i < layout.length(b); ++i) {
      places.push_back(b * layout.max_length + i);
    }
  }
  return places;
}

/// The encoder's sequences that these of the decoder read.
at::Tensor source_rows(const std::vector<int64_t>& sequences, const nn::ForwardContext& context) {
  auto rows = sequences;
  if (context.decoding_state != nullptr) {
    for (auto& row : rows) {
      row = context.decoding_state->source_indices()[static_cast<std::size_t>(row)];
    }
  }
  return kernels::to_device(rows, context.encoder_states->states.device());
}

}  // namespace

RnnDecoderSource Seq2SeqRnn::read_source(const nn::ForwardContext& context) {
  TORCH_CHECK(context.encoder_states != nullptr,
              "a decoder needs the hidden states of its encoder: context.encoder_states");
  auto* const decoding = context.decoding_state;
  auto source = decoding != nullptr ? RnnDecoderSource::kept(*decoding) : RnnDecoderSource();
  if (!source.summary.defined()) {
    const auto& encoder = *context.encoder_states;
    source.summary = summary_of(encoder.states, encoder.layout);
    if (attention_ != nullptr) {
      source.attention = attention_->read(encoder.states, encoder.layout);
    }
    if (decoding != nullptr) {
      source.keep(*decoding);
    }
  }
  return source;
}

RnnDecoderState Seq2SeqRnn::initial_state(const RnnDecoderSource& source) {
  const auto& own = options_.seq2seq_rnn;
  RnnDecoderState state;
  for (std::size_t i = 0; i < bridges_.size(); ++i) {
    kernels::RecurrentState layer{.state = bridges_[i]->forward(source.summary).tanh(),
                                  .cell_state = {}};
    if (!memory_bridges_.empty()) {
      layer.cell_state = memory_bridges_[i]->forward(source.summary).to(at::kFloat);
    }
    state.layers.push_back(std::move(layer));
  }
  if (own.has_input_feeding) {
    state.features = source.summary.new_zeros({source.summary.size(0), options_.dim});
  }
  if (attention_ != nullptr) {
    state.coverage = attention_->no_coverage(source.attention);
  }
  return state;
}

at::Tensor Seq2SeqRnn::run_layers(const at::Tensor& x,
                                  RnnDecoderState& state,
                                  const std::vector<at::Tensor>& masks,
                                  const nn::ForwardContext& context) {
  auto output = x;
  for (std::size_t i = 0; i < decoder_.size(); ++i) {
    const auto input = masks[i].defined() ? output * masks[i] : output;
    state.layers[i] = decoder_[i]->next(input, state.layers[i], context);
    output = layer_output(i, state.layers[i].state, output);
  }
  return output;
}

Seq2SeqRnn::StepOutput Seq2SeqRnn::step(const StepInput& input,
                                        const RnnDecoderSource& source,
                                        RnnDecoderState& state,
                                        const nn::ForwardContext& context) {
  const auto& own = options_.seq2seq_rnn;
  at::Tensor weights;
  const auto attend = [&](const at::Tensor& query) {  // (b, H) -> (b, C)
    if (attention_ == nullptr) {
      return source.summary;
    }
    const auto result = attention_->attend(
        {.states = query.unsqueeze(1), .positions = input.positions.unsqueeze(1)}, source.attention,
        state.coverage, context);
    state.coverage = result.coverage;
    weights = result.weights.squeeze(1);
    return result.context.squeeze(1);
  };
  const auto& x = input.x;
  if (!own.attends_after) {
    const auto read = attend(state.layers.back().state);
    const auto after = run_layers(at::cat({x, read}, 1), state, input.masks, context);
    return {.inputs = at::cat({after, x, read}, 1), .weights = weights};
  }
  const auto after = run_layers(own.has_input_feeding ? at::cat({x, state.features}, 1) : x, state,
                                input.masks, context);
  const auto read = attend(after);
  const auto features = readout_->forward(at::cat({read, after}, 1)).tanh();
  if (own.has_input_feeding) {
    state.features = features;
  }
  return {.inputs = features, .weights = weights};
}

bool Seq2SeqRnn::attends_between_steps() const {
  const auto& own = options_.seq2seq_rnn;
  return attention_ != nullptr &&
         (!own.attends_after || own.has_input_feeding || own.coverage != nn::Coverage::kNone);
}

at::Tensor Seq2SeqRnn::read_out(const at::Tensor& inputs) {
  const auto& own = options_.seq2seq_rnn;
  if (own.attends_after) {
    return inputs;  // which are the features
  }
  const auto values = readout_->forward(inputs);
  return own.readout == Readout::kMaxout
             ? std::get<0>(values.view({-1, options_.dim, 2}).max(2))  // arXiv:1302.4389
             : values.tanh();
}

Seq2SeqRnn::StepInput Seq2SeqRnn::StepInput::narrow(int64_t first, int64_t count) const {
  auto result = *this;
  result.x = x.narrow(0, first, count);
  result.positions = positions.narrow(0, first, count);
  for (auto& mask : result.masks) {
    mask = mask.defined() ? mask.narrow(0, first, count) : mask;
  }
  return result;
}

Seq2SeqRnn::Outputs Seq2SeqRnn::run_by_step(const at::Tensor& x,
                                            const nn::ForwardContext& context) {
  const auto steps = nn::time_steps_of(context.layout);
  const auto source = read_source(context).select(source_rows(steps.sequences, context));
  auto* const decoding = context.decoding_state;
  auto state = initial_state(source);
  if (decoding != nullptr) {
    state.load(*decoding, steps.sequences);
  }
  StepInput by_time{.x = kernels::permuted_rows(x, steps.tokens, steps.places),
                    .positions = context.layout.positions.index_select(
                        0, kernels::to_device(steps.tokens, x.device())),
                    .masks = std::vector<at::Tensor>(decoder_.size())};
  for (std::size_t i = 1; i < decoder_.size(); ++i) {
    by_time.masks[i] = dropout_mask(x, decoder_[0]->state_width(), context.rate(options_.dropout),
                                    context.rng_key(decoder_site(options_, i)), steps);
  }
  std::vector<at::Tensor> inputs{};
  std::vector<at::Tensor> weights{};
  int64_t first = 0;
  for (const auto count : steps.counts) {
    auto now = state.first(count);
    const auto output = step(by_time.narrow(first, count), source.first(count), now, context);
    inputs.push_back(output.inputs);
    weights.push_back(output.weights);
    if (decoding != nullptr) {  // sequences without further tokens keep their state
      state.set_first(now);
    } else {
      state = std::move(now);
    }
    first += count;
  }
  if (decoding != nullptr) {
    state.keep(*decoding, steps.sequences);
  }
  Outputs result;
  result.features = kernels::permuted_rows(read_out(at::cat(inputs)), steps.places, steps.tokens);
  if (attention_ != nullptr && context.attention_recorder != nullptr) {
    result.weights = kernels::permuted_rows(at::cat(weights), steps.places, steps.tokens);
  }
  return result;
}

at::Tensor Seq2SeqRnn::run_layers(const at::Tensor& x,
                                  const at::Tensor& summary,
                                  const nn::ForwardContext& context) {
  const auto steps = nn::time_steps_of(context.layout);
  const auto before = initial_state(
      {.attention = {},
       .summary = summary.index_select(0, kernels::to_device(steps.sequences, x.device()))});
  auto output = x;
  for (std::size_t i = 0; i < decoder_.size(); ++i) {
    const auto rate = i == 0 ? 0 : context.rate(options_.dropout);
    const auto input = kernels::dropout(output, rate, context.rng_key(decoder_site(options_, i)));
    const auto by_time = decoder_[i]->states(input, before.layers[i], steps, context).state;
    output = layer_output(i, kernels::permuted_rows(by_time, steps.places, steps.tokens), output);
  }
  return output;
}

Seq2SeqRnn::Outputs Seq2SeqRnn::run_by_layer(const at::Tensor& x,
                                             const nn::ForwardContext& context) {
  const auto& layout = context.layout;
  const auto source = read_source(context);
  if (attention_ == nullptr) {
    const auto summary = source.summary.repeat_interleave(layout.device_lengths(), 0);  // (N, C)
    const auto after = run_layers(at::cat({x, summary}, 1), source.summary, context);
    return {.features = read_out(at::cat({after, x, summary}, 1)), .weights = {}};
  }
  const auto after = run_layers(x, source.summary, context);  // (N, H)
  const auto rows = kernels::to_device(nn::padded_rows(layout), x.device());
  const auto padded = [&](const at::Tensor& tokens) {
    return tokens.index_select(0, rows).unflatten(0, {layout.sequences(), layout.max_length});
  };
  const auto [read, weights, coverage] =
      attention_->attend({.states = padded(after), .positions = padded(layout.positions)},
                         source.attention, {}, context);
  const auto places = kernels::to_device(padded_places(layout), x.device());
  const auto tokens = [&](const at::Tensor& all) {
    return all.flatten(0, 1).index_select(0, places);
  };
  return {.features = readout_->forward(at::cat({tokens(read), after}, 1)).tanh(),
          .weights = context.attention_recorder != nullptr ? tokens(weights) : at::Tensor()};
}

}  // namespace weft::models
