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

AttentionSource AttentionSource::select(const at::Tensor& rows) const {
  return {.values = selected(values, rows),
          .keys = selected(keys, rows),
          .is_hidden = selected(is_hidden, rows),
          .fertility = selected(fertility, rows)};
}

AttentionSource AttentionSource::first(int64_t count) const {
  return {.values = first_of(values, count),
          .keys = first_of(keys, count),
          .is_hidden = first_of(is_hidden, count),
          .fertility = first_of(fertility, count)};
}

EncoderAttention::EncoderAttention(const EncoderAttentionOptions& options)
    : coverage_(options.coverage) {
  score_ = register_module("score", options.make_score({.query_width = options.query_width,
                                                        .key_width = options.value_width}));
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
  std::vector<int64_t> rows;
  std::vector<int64_t> lengths;
  rows.reserve(static_cast<std::size_t>(sequences * longest));
  lengths.reserve(static_cast<std::size_t>(sequences));
  for (int64_t b = 0; b < sequences; ++b) {
    lengths.push_back(layout.length(b));
    TORCH_CHECK(lengths.back() > 0, "a source text is empty");
    for (int64_t i = 0; i < longest; ++i) {
      rows.push_back(layout.offsets[static_cast<std::size_t>(b)] + std::min(i, lengths.back() - 1));
    }
  }
  const auto device = states.device();
  AttentionSource source;
  source.values = states.index_select(0, kernels::to_device(rows, device))
                      .view({sequences, longest, states.size(1)});
  source.is_hidden = at::ge(at::arange(longest, at::device(device)).unsqueeze(0),
                            kernels::to_device(lengths, device).unsqueeze(1));
  source.keys = score_->prepared_keys(source.values.unsqueeze(1)).squeeze(1);
  if (fertility_) {
    source.fertility = kMostFertility * at::sigmoid(fertility_->forward(states).to(at::kFloat))
                                            .index_select(0, kernels::to_device(rows, device))
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

EncoderAttention::Result EncoderAttention::attend(const at::Tensor& query,
                                                  const AttentionSource& source,
                                                  const at::Tensor& coverage,
                                                  const ForwardContext& context) {
  auto keys = source.keys;
  if (coverage.defined()) {  // inside the tanh
    keys = keys + coverage.unsqueeze(2).to(keys.scalar_type()) * coverage_vector_;
  }
  const AttentionTile tile{.span = {.queries = 1, .keys = keys.size(1)},
                           .query = query.unsqueeze(1).unsqueeze(1),  // (B, 1, 1, Q)
                           .key = keys.unsqueeze(1),                  // (B, 1, S, K)
                           .context = context};
  const auto scores = score_->scores(tile).view(source.is_hidden.sizes());  // (B, S)
  Result result;
  result.weights =
      at::softmax(scores.masked_fill(source.is_hidden, -std::numeric_limits<float>::infinity()), 1);
  result.context = kernels::batched_product(
                       result.weights.to(source.values.scalar_type()).unsqueeze(1), source.values)
                       .squeeze(1);
  if (coverage.defined()) {
    result.coverage = coverage + (source.fertility.defined() ? result.weights / source.fertility
                                                             : result.weights);
  }
  return result;
}

}  // namespace weft::nn
