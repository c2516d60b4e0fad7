#include "nn/recurrent/encoder_attention.h"

#include <algorithm>
#include <limits>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/linear/linear.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

constexpr double kMostFertility = 2;  // arXiv:1601.04811, section 4.1

at::Tensor selected(const at::Tensor& x, const at::Tensor& rows) {
  return x.defined() ? x.index_select(0, rows) : x;
}

at::Tensor first_of(const at::Tensor& x, int64_t count) {
  return x.defined() ? x.narrow(0, 0, count) : x;
}

}  // namespace

std::vector<int64_t> padded_rows(const kernels::Layout& layout) {
  std::vector<int64_t> rows;
  rows.reserve(static_cast<std::size_t>(layout.sequences() * layout.max_length));
  for (std::size_t b = 0; b + 1 < layout.offsets.size(); ++b) {
    const auto last = std::max<int64_t>(layout.offsets[b + 1] - 1, 0);
    for (int64_t i = 0; i < layout.max_length; ++i) {
      rows.push_back(std::min(layout.offsets[b] + i, last));
    }
  }
  return rows;
}

AttentionSource AttentionSource::select(const at::Tensor& rows) const {
  return {.values = selected(values, rows),
          .keys = selected(keys, rows),
          .is_hidden = selected(is_hidden, rows),
          .lengths = selected(lengths, rows),
          .fertility = selected(fertility, rows)};
}

AttentionSource AttentionSource::first(int64_t count) const {
  return {.values = first_of(values, count),
          .keys = first_of(keys, count),
          .is_hidden = first_of(is_hidden, count),
          .lengths = first_of(lengths, count),
          .fertility = first_of(fertility, count)};
}

EncoderAttention::EncoderAttention(const EncoderAttentionOptions& options)
    : coverage_(options.coverage) {
  score_ = register_module("score", options.make_score({.query_width = options.query_width,
                                                        .key_width = options.value_width}));
  if (options.make_window) {
    window_ = register_module("local", options.make_window({.query_width = options.query_width}));
  }
  if (coverage_ != Coverage::kNone) {
    const auto width = score_->prepared_keys(at::empty({1, 1, 1, options.value_width})).size(-1);
    coverage_vector_ = register_parameter("coverage", at::empty({1, width}));
  }
  if (coverage_ == Coverage::kFertility) {
    fertility_ = register_module("fertility", Linear(LinearOptions{options.value_width, 1, false}));
  }
}

AttentionSource EncoderAttention::read(const at::Tensor& states, const kernels::Layout& layout) {
  const auto sequences = layout.sequences();
  const auto longest = layout.max_length;
  for (int64_t b = 0; b < sequences; ++b) {
    TORCH_CHECK(layout.length(b) > 0, "a source text is empty");
  }
  const auto device = states.device();
  const auto rows = kernels::to_device(padded_rows(layout), device);
  AttentionSource source;
  source.values = states.index_select(0, rows).view({sequences, longest, states.size(1)});
  source.lengths = layout.device_lengths();
  source.is_hidden =
      at::ge(at::arange(longest, at::device(device)).unsqueeze(0), source.lengths.unsqueeze(1));
  source.keys = score_->prepared_keys(source.values.unsqueeze(1)).squeeze(1);
  if (fertility_) {
    source.fertility = kMostFertility * at::sigmoid(fertility_->forward(states).to(at::kFloat))
                                            .index_select(0, rows)
                                            .view({sequences, longest});
  }
  return source;
}

at::Tensor EncoderAttention::no_coverage(const AttentionSource& source) const {
  return coverage_ == Coverage::kNone
             ? at::Tensor()
             : at::zeros(source.is_hidden.sizes(),
                         at::device(source.values.device()).dtype(at::kFloat));
}

EncoderAttention::Result EncoderAttention::attend(const AttentionQueries& queries,
                                                  const AttentionSource& source,
                                                  const at::Tensor& coverage,
                                                  const ForwardContext& context) {
  auto keys = source.keys;
  if (coverage.defined()) {  // inside the tanh
    TORCH_CHECK(queries.states.size(1) == 1, "coverage changes from step to step");
    keys = keys + coverage.unsqueeze(2).to(keys.scalar_type()) * coverage_vector_;
  }
  const AttentionTile tile{.span = {.queries = queries.states.size(1), .keys = keys.size(1)},
                           .query = queries.states.unsqueeze(1),  // (B, 1, L, Q)
                           .key = keys.unsqueeze(1),              // (B, 1, S, K)
                           .context = context};
  const auto scores = score_->scores(tile).squeeze(1);  // (B, L, S)
  auto is_hidden = source.is_hidden.unsqueeze(1);       // (B, 1, S)
  at::Tensor distances;                                 // (B, L, S), from the centres
  if (window_ != nullptr) {
    const auto centres = window_->centres(queries.states, queries.positions, source.lengths);
    distances = at::arange(keys.size(1), centres.options()) - centres.unsqueeze(2);
    is_hidden = at::logical_or(is_hidden, distances.abs() > window_->radius());
  }
  Result result;
  result.weights =
      at::softmax(scores.masked_fill(is_hidden, -std::numeric_limits<float>::infinity()), 2);
  if (window_ != nullptr) {
    result.weights = window_->weighted(result.weights, distances);
  }
  result.context =
      kernels::batched_product(result.weights.to(source.values.scalar_type()), source.values);
  if (coverage.defined()) {
    const auto weights = result.weights.squeeze(1);
    result.coverage =
        coverage + (source.fertility.defined() ? weights / source.fertility : weights);
  }
  return result;
}

}  // namespace weft::nn
