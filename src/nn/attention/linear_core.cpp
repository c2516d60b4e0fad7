#include "nn/attention/linear_core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/operation_profiler.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/decoding_state.h"

namespace weft::nn {

namespace {

/// Tokens of a chunk: products within a chunk are quadratic, those between chunks are not.
constexpr int64_t kChunk = 128;

/// The sequences of a batch in chunks of equal size, the last chunk of each padded.
struct Chunks {
  Chunks(const kernels::Layout& layout, const at::Device& device)
      : size(std::min(kChunk, std::max<int64_t>(1, layout.max_length))) {
    std::vector<int64_t> rows;
    std::vector<int64_t> own_places(static_cast<std::size_t>(layout.tokens()));
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto first = layout.offsets[static_cast<std::size_t>(b)];
      const auto length = layout.length(b);
      const auto chunks = (length + size - 1) / size;
      counts.push_back(chunks);
      for (int64_t i = 0; i < chunks * size; ++i) {
        if (i < length) {
          own_places[static_cast<std::size_t>(first + i)] = std::ssize(rows);
        }
        rows.push_back(i < length ? first + i : layout.tokens());
      }
    }
    row_of = kernels::to_device(rows, device);
    places = kernels::to_device(own_places, device);
  }

  /// (N, H, ...) -> (chunks, H, size, ...), padding filled
  at::Tensor split(const at::Tensor& x, double padding) const {
    auto sizes = x.sizes().vec();
    sizes[0] = 1;
    const auto rows = at::cat({x, at::full(sizes, padding, x.options())}).index_select(0, row_of);
    return rows.unflatten(0, {-1, size}).transpose(1, 2);
  }
  /// (chunks, H, size, K) -> (N, H, K)
  at::Tensor join(const at::Tensor& x) const {
    return x.transpose(1, 2).flatten(0, 1).index_select(0, places);
  }

  int64_t size;
  std::vector<int64_t> counts;  // of each sequence
  at::Tensor row_of;            // (chunks * size), N for padding
  at::Tensor places;            // (N)
};

/// Sum over the keys so far of exp(scale of the key - log_scale) features^T [values, 1].
struct RunningSum {
  at::Tensor sum;        // (H, R, K + 1)
  at::Tensor log_scale;  // (H, 1, 1)
};

RunningSum added(const RunningSum& before, const RunningSum& own) {
  const auto top = at::maximum(before.log_scale, own.log_scale);
  return {
      .sum = before.sum * (before.log_scale - top).exp() + own.sum * (own.log_scale - top).exp(),
      .log_scale = top};
}

struct ChunkedInput {
  at::Tensor query;      // (chunks, H, C, R)
  at::Tensor key;        // (chunks, H, C, R)
  at::Tensor value;      // (chunks, H, C, K + 1), the last column is one
  at::Tensor log_scale;  // (chunks, H, C), -inf for padding
};

/// The sum of each chunk on its own.
std::vector<RunningSum> sums_of_chunks(const ChunkedInput& in) {
  const auto top = std::get<0>(in.log_scale.max(2, true));  // (chunks, H, 1)
  const auto scaled = in.key * (in.log_scale - top).exp().unsqueeze(-1);
  const auto sums = kernels::batched_product(scaled.transpose(2, 3), in.value).unbind(0);
  const auto tops = top.unsqueeze(-1).unbind(0);
  std::vector<RunningSum> result;
  result.reserve(sums.size());
  for (std::size_t c = 0; c < sums.size(); ++c) {
    result.push_back({.sum = sums[c], .log_scale = tops[c]});
  }
  return result;
}

/// The sums that the chunks of causal attention start from; `ends` receives those after the last
/// chunk of each sequence, and holds the ones to start from.
std::vector<RunningSum> running_sums(const ChunkedInput& in,
                                     const std::vector<int64_t>& counts,
                                     std::vector<RunningSum>& ends) {
  const auto own = sums_of_chunks(in);
  std::vector<RunningSum> before;
  std::size_t chunk = 0;
  for (std::size_t b = 0; b < counts.size(); ++b) {
    for (int64_t c = 0; c < counts[b]; ++c) {
      before.push_back(ends[b]);
      ends[b] = added(ends[b], own[chunk]);
      ++chunk;
    }
  }
  return before;
}

at::Tensor stacked(const std::vector<RunningSum>& sums, at::Tensor RunningSum::*part) {
  std::vector<at::Tensor> parts;
  parts.reserve(sums.size());
  for (const auto& sum : sums) {
    parts.push_back(sum.*part);
  }
  return at::stack(parts);
}

/// Numerator and denominator of causal attention, (chunks, H, C, K + 1).
at::Tensor attend_causal(const ChunkedInput& in, const std::vector<RunningSum>& before) {
  const auto start = stacked(before, &RunningSum::log_scale);  // (chunks, H, 1, 1)
  const auto top =
      at::maximum(std::get<0>(in.log_scale.cummax(2)).unsqueeze(-1), start);  // (chunks, H, C, 1)
  const auto size = in.query.size(2);
  const auto future = at::ones({size, size}, in.query.options().dtype(at::kBool)).triu(1);
  const auto scale = (in.log_scale.unsqueeze(2) - top).masked_fill(future, -INFINITY).exp();
  const auto weights =
      kernels::batched_product(in.query, in.key.transpose(2, 3)) * scale;  // (chunks, H, C, C)
  const auto earlier =
      kernels::batched_product(in.query, stacked(before, &RunningSum::sum)) * (start - top).exp();
  return kernels::batched_product(weights, in.value) + earlier;
}

/// The same where each token sees its whole sequence.
at::Tensor attend_all(const ChunkedInput& in, const std::vector<int64_t>& counts) {
  const auto own = sums_of_chunks(in);
  std::vector<at::Tensor> totals;
  std::size_t chunk = 0;
  for (const auto count : counts) {
    if (count == 0) {
      continue;
    }
    auto total = own[chunk++];
    for (int64_t c = 1; c < count; ++c) {
      total = added(total, own[chunk++]);
    }
    totals.insert(totals.end(), static_cast<std::size_t>(count), total.sum);
  }
  return kernels::batched_product(in.query, at::stack(totals));
}

}  // namespace

LinearCore::LinearCore(AttentionOptions options, std::shared_ptr<FeatureMap> map)
    : options_(std::move(options)), map_(std::move(map)) {
  register_module("features", map_);
}

at::Tensor LinearCore::forward(const CoreInput& input, const ForwardContext& context) {
  const kernels::ScopedOperationTimer timer(kernels::Operation::kAttention);
  if (context.is_training) {
    map_->begin_step(context.step);
  }
  const auto& layout = input.queries;
  const bool continues = context.decoding_state != nullptr;
  const auto rows = continues ? separate_rows(input.qkv, input.rotary, layout.positions, options_)
                              : separated(input, options_);
  const auto tokens = rows.query.size(0);
  if (tokens == 0) {
    return at::zeros_like(rows.query);
  }
  const auto type = kernels::accumulate_type(rows.query);
  const auto width = head_dim(options_);
  const auto heads = [&](const at::Tensor& x) {  // (N, H, K)
    const auto own = x.to(type).view({tokens, -1, width});
    const auto copies = options_.heads / own.size(1);
    return copies == 1 ? own : at::repeat_interleave(own, copies, 1);
  };
  const auto value = heads(rows.value);
  const auto key = map_->key_features(heads(rows.key));
  const auto ones = at::ones({tokens, options_.heads, 1}, value.options());
  const Chunks chunks(layout, value.device());
  const auto scale = key.log_scale.defined() ? key.log_scale
                                             : at::zeros({tokens, options_.heads}, value.options());
  const ChunkedInput in{.query = chunks.split(map_->query_features(heads(rows.query)).values, 0),
                        .key = chunks.split(key.values, 0),
                        .value = chunks.split(at::cat({value, ones}, 2), 0),
                        .log_scale = chunks.split(scale, -INFINITY)};
  at::Tensor mixed;
  if (options_.is_causal) {
    const auto sequences = layout.sequences();
    const auto features = in.key.size(3);
    std::vector<RunningSum> ends(
        static_cast<std::size_t>(sequences),
        {.sum = at::zeros({options_.heads, features, width + 1}, value.options()),
         .log_scale = at::full({options_.heads, 1, 1}, -INFINITY, value.options())});
    auto* const state = context.decoding_state;
    if (state != nullptr &&
        state->sequence_tensor(context.depth(options_.layer), "sum").defined()) {
      const auto sums = state->sequence_tensor(context.depth(options_.layer), "sum").unbind(0);
      const auto scales =
          state->sequence_tensor(context.depth(options_.layer), "log_scale").unbind(0);
      for (std::size_t b = 0; b < ends.size(); ++b) {
        ends[b] = {.sum = sums[b], .log_scale = scales[b]};
      }
    }
    mixed = attend_causal(in, running_sums(in, chunks.counts, ends));
    if (state != nullptr) {
      state->sequence_tensor(context.depth(options_.layer), "sum") =
          stacked(ends, &RunningSum::sum);
      state->sequence_tensor(context.depth(options_.layer), "log_scale") =
          stacked(ends, &RunningSum::log_scale);
    }
  } else {
    mixed = attend_all(in, chunks.counts);
  }
  const auto sums = chunks.join(mixed);  // (N, H, K + 1)
  const auto out = sums.slice(2, 0, width) / sums.slice(2, width);
  return drop_mixed_values(out.flatten(1).to(rows.query.scalar_type()), options_, input, context);
}

std::vector<at::Tensor> LinearCore::weights(const CoreInput& input,
                                            const ForwardContext& /*context*/) {
  const auto rows = separated(input, options_);
  std::vector<at::Tensor> result;
  for (int64_t b = 0; b < input.queries.sequences(); ++b) {
    const auto length = input.queries.length(b);
    const auto heads = [&](const at::Tensor& x) {  // (L, H, K)
      return heads_of_sequence(x, input.queries, b, options_).transpose(0, 1);
    };
    const auto key = map_->key_features(heads(rows.key));
    const auto query = map_->query_features(heads(rows.query)).values;
    auto scores = at::matmul(query.transpose(0, 1), key.values.permute({1, 2, 0})).log();
    if (key.log_scale.defined()) {
      scores = scores + key.log_scale.t().unsqueeze(1);
    }
    if (options_.is_causal) {
      const auto future = at::ones({length, length}, scores.options().dtype(at::kBool)).triu(1);
      scores = scores.masked_fill(future, -INFINITY);
    }
    result.push_back(scores.softmax(-1).to(at::kFloat));  // (H, L, L)
  }
  return result;
}

}  // namespace weft::nn
