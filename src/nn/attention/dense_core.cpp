#include "nn/attention/dense_core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "kernels/attention/attention_dropout.h"
#include "kernels/linear/linear.h"
#include "kernels/operation_profiler.h"
#include "kernels/reference.h"
#include "kernels/softmax.h"
#include "kernels/to_device.h"
#include "nn/attention/mask_patterns.h"
#include "nn/attention/scores/score_parts.h"

namespace weft::nn {

namespace {

/// The rows of some sequences: `count` of each, from its first row on.
std::vector<int64_t> rows_of_sequences(const std::vector<int64_t>& begins,
                                       const std::vector<int64_t>& sequences,
                                       int64_t count) {
  std::vector<int64_t> rows;
  for (const auto sequence : sequences) {
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(begins[static_cast<std::size_t>(sequence)] + i);
    }
  }
  return rows;
}

/// These rows of x (N, G' K) by head: (G, H, count, K). Shared heads are repeated.
at::Tensor heads_of_sequences(const at::Tensor& x,
                              const std::vector<int64_t>& begins,
                              const std::vector<int64_t>& sequences,
                              int64_t count,
                              const AttentionOptions& options) {
  const int64_t width = head_dim(options);
  const auto rows = kernels::to_device(rows_of_sequences(begins, sequences, count), x.device());
  const auto heads = x.index_select(0, rows).view(
      {static_cast<int64_t>(sequences.size()), count, x.size(1) / width, width});
  const auto copies = options.heads / heads.size(2);
  return (copies == 1 ? heads : at::repeat_interleave(heads, copies, 2)).transpose(1, 2);
}

/// Whether the kernels can compute vectors of distances together with the rest.
bool can_combine(const kernels::AttentionSettings& settings, int64_t longest) {
  const auto& vectors = settings.distance_vectors;
  return vectors.is_empty() ||
         (settings.key_heads_or_heads() == settings.heads && !settings.rotary.defined() &&
          !settings.distance_bias.defined() && std::ssize(*vectors.rows) >= 2 * longest - 1);
}

}  // namespace

DenseParts dense_parts(const AttentionOptions& options) {
  DenseParts parts{.score = std::make_shared<DotProductScore>(options.scale)};
  if (options.has_distance_bias) {
    parts.modifiers.push_back({"distance_bias", std::make_shared<DistanceBias>()});
  }
  for (const auto& make : options.position_modifiers) {
    parts.modifiers.push_back(make(options));
  }
  parts.has_positions = true;
  if (options.is_causal) {
    parts.patterns.push_back(std::make_shared<CausalPattern>());
  }
  return parts;
}

DenseCore::DenseCore(AttentionOptions options, DenseParts parts)
    : options_(std::move(options)), parts_(std::move(parts)) {
  register_module("score", parts_.score);
  for (const auto& [name, modifier] : parts_.modifiers) {
    register_module(name, modifier);
  }
}

bool DenseCore::is_position_independent() const {
  return parts_.patterns.empty() && parts_.modifiers.empty() && !options_.distance_scores &&
         parts_.score->is_position_independent();
}

std::optional<kernels::AttentionSettings> DenseCore::fused_settings(
    const CoreInput& input, const ForwardContext& context) const {
  std::optional settings = attention_settings(options_, context, /*by_head=*/false);
  settings->rotary = input.rotary;
  settings->distance_vectors = input.distance_vectors;
  const auto longest = std::max(input.queries.max_length, input.keys.max_length);
  const auto add = [&](const AttentionPart& part) {
    if (settings) {
      settings = part.fused(std::move(*settings), context, longest);
    }
  };
  add(*parts_.score);
  for (const auto& [name, modifier] : parts_.modifiers) {
    add(*modifier);
  }
  for (const auto& pattern : parts_.patterns) {
    add(*pattern);
  }
  return settings && can_combine(*settings, longest) ? settings : std::nullopt;
}

at::Tensor DenseCore::forward(const CoreInput& input, const ForwardContext& context) {
  const auto settings = fused_settings(input, context);
  if (!settings) {
    return plain_forward(input, context);
  }
  return input.qkv.defined()
             ? kernels::attention(input.qkv, input.queries, *settings, input.rng_key)
             : kernels::attention(input.rows, input.queries, input.keys, *settings, input.rng_key);
}

CoreInput DenseCore::with_separate_rows(const CoreInput& input) const {
  auto result = input;
  result.rows = separated(input, options_);
  return result;
}

DenseCore::Spans DenseCore::spans_of(const CoreInput& input, const ForwardContext& context) const {
  Spans spans;
  for (int64_t b = 0; b < input.queries.sequences(); ++b) {
    spans[span_of(input, b, options_.is_causal, context)].push_back(b);
  }
  return spans;
}

at::Tensor DenseCore::visible_pairs(const AttentionTile& tile) const {
  const auto& span = tile.span;
  const auto visible = at::ones({options_.heads, span.queries, span.keys}, at::kBool);
  auto* row = visible.data_ptr<bool>();
  for (int64_t head = 0; head < options_.heads; ++head) {
    for (int64_t i = 0; i < span.queries; ++i, row += span.keys) {
      for (const auto& pattern : parts_.patterns) {
        pattern->hide(span, head, i, row);
      }
    }
  }
  return visible.to(tile.query.device());
}

at::Tensor DenseCore::weights_of(const AttentionTile& tile) const {
  auto scores = parts_.score->scores(tile);
  if (!tile.distance_vectors.is_empty()) {
    scores = scores + kernels::reference::distance_scores(tile.query, tile.key, key_distances(tile),
                                                          tile.distance_vectors) *
                          score_scale(options_);
  }
  for (const auto& [name, modifier] : parts_.modifiers) {
    scores = modifier->scores(scores, tile);
  }
  if (!parts_.patterns.empty()) {
    scores = scores.masked_fill(visible_pairs(tile).logical_not(), -INFINITY);
  }
  auto weights = kernels::softmax(scores);
  for (const auto& [name, modifier] : parts_.modifiers) {
    weights = modifier->weights(weights, tile);
  }
  return weights;
}

AttentionTile DenseCore::tile_of(const Spans::value_type& sequences,
                                 const CoreInput& separated_rows,
                                 const ForwardContext& context) const {
  const auto& [span, indices] = sequences;
  const auto& rows = separated_rows.rows;
  return {.span = span,
          .query = heads_of_sequences(rows.query, separated_rows.queries.offsets, indices,
                                      span.queries, options_),
          .key = parts_.score->prepared_keys(
              heads_of_sequences(rows.key, rows.key_begins, indices, span.keys, options_)),
          .context = context,
          .distance_vectors = separated_rows.distance_vectors,
          .sequences = indices};
}

at::Tensor DenseCore::mix(const Spans::value_type& sequences,
                          const CoreInput& separated_rows,
                          const ForwardContext& context) const {
  const auto& [span, indices] = sequences;
  const auto& rows = separated_rows.rows;
  const auto tile = tile_of(sequences, separated_rows, context);
  auto weights = weights_of(tile);
  if (const double dropout = context.rate(options_.dropout); dropout > 0) {
    weights = kernels::attention_dropout(
        weights,
        {.sequences = indices, .heads = options_.heads, .queries = span.queries, .keys = span.keys},
        dropout, separated_rows.rng_key);
  }
  const auto value = heads_of_sequences(rows.value, rows.key_begins, indices, span.keys, options_);
  auto mixed = kernels::batched_product(weights.to(value.scalar_type()), value);  // (G, H, L, K)
  for (const auto& [name, modifier] : parts_.modifiers) {
    if (const auto added = modifier->values(weights, tile); added.defined()) {
      mixed = mixed + added.to(mixed.scalar_type());
    }
  }
  return mixed.transpose(1, 2).reshape({-1, rows.query.size(1)});
}

at::Tensor DenseCore::plain_forward(const CoreInput& input, const ForwardContext& context) const {
  const kernels::ScopedOperationTimer timer(kernels::Operation::kAttention);
  const auto all = with_separate_rows(input);
  const auto& query = all.rows.query;
  std::vector<at::Tensor> outputs{at::zeros({0, query.size(1)}, query.options())};
  std::vector<int64_t> order(static_cast<std::size_t>(query.size(0)));  // row in the outputs
  int64_t done = 0;
  for (const auto& sequences : spans_of(input, context)) {
    const auto& [span, indices] = sequences;
    for (const auto row : rows_of_sequences(input.queries.offsets, indices, span.queries)) {
      order[static_cast<std::size_t>(row)] = done++;
    }
    const auto count = static_cast<int64_t>(indices.size()) * span.queries;
    outputs.push_back(span.keys > 0 && count > 0
                          ? mix(sequences, all, context)
                          : at::zeros({count, query.size(1)}, query.options()));
  }
  return at::cat(outputs).index_select(0, kernels::to_device(order, query.device()));  // (N, H K)
}

std::vector<at::Tensor> DenseCore::weights(const CoreInput& input, const ForwardContext& context) {
  auto precise = input;
  if (input.qkv.defined()) {
    precise.qkv = input.qkv.to(at::kFloat);
  }
  const auto all = with_separate_rows(precise);
  std::vector<at::Tensor> weights(static_cast<std::size_t>(input.queries.sequences()));
  for (const auto& sequences : spans_of(input, context)) {
    const auto& indices = sequences.second;
    const auto of_span = weights_of(tile_of(sequences, all, context)).unbind(0);  // (H, L, L) each
    for (std::size_t i = 0; i < indices.size(); ++i) {
      weights[static_cast<std::size_t>(indices[i])] = of_span[i];
    }
  }
  return weights;
}

}  // namespace weft::nn
