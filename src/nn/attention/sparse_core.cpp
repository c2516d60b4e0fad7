#include "nn/attention/sparse_core.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "kernels/embedding.h"
#include "kernels/to_device.h"
#include "nn/attention/dense_core.h"

namespace weft::nn {

namespace {

/// The keys of any of the patterns.
class UnionPattern : public MaskPattern {
 public:
  explicit UnionPattern(std::vector<std::shared_ptr<SparsePattern>> patterns)
      : patterns_(std::move(patterns)) {}

  bool is_visible(const AttentionSpan& span, int64_t head, int64_t i, int64_t j) const override {
    return std::ranges::any_of(
        patterns_, [&](const auto& pattern) { return pattern->is_visible(span, head, i, j); });
  }

 private:
  std::vector<std::shared_ptr<SparsePattern>> patterns_;
};

at::Tensor gather(const at::Tensor& x, const std::vector<int64_t>& rows) {
  return kernels::embedding_sum(x.contiguous(), kernels::to_device(rows, x.device()), {}, {}, {},
                                {});
}

/// For each of `count` rows its place in `rows`, or rows.size().
std::vector<int64_t> places_of(const std::vector<int64_t>& rows, int64_t count) {
  std::vector<int64_t> places(static_cast<std::size_t>(count), std::ssize(rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    places[static_cast<std::size_t>(rows[i])] = static_cast<int64_t>(i);
  }
  return places;
}

/// Rows of x by place; `missing` for the place behind the last.
at::Tensor scatter(const at::Tensor& x, const at::Tensor& places, double missing) {
  return at::cat({x, at::full({1, x.size(1)}, missing, x.options())}).index_select(0, places);
}

std::vector<SequenceRows> sequences_of(const CoreInput& input,
                                       const kernels::AttentionInput& rows,
                                       const ForwardContext& context,
                                       bool is_causal) {
  std::vector<SequenceRows> result;
  for (int64_t b = 0; b < input.queries.sequences(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    const auto queries = input.queries.length(b);
    const auto keys = input.keys.length(b);
    const auto& prefixes = context.prefix_lengths;
    result.push_back(
        {.span = {.queries = queries,
                  .keys = keys,
                  .offset = is_causal ? keys - queries : 0,
                  .prefix = prefixes.empty() ? 0 : prefixes.at(i)},
         .first_query = input.queries.offsets[i],
         .first_key = rows.key_begins.empty() ? input.keys.offsets[i] : rows.key_begins[i],
         .sequence = b});
  }
  return result;
}

}  // namespace

SparseCore::SparseCore(const AttentionOptions& options,
                       std::vector<std::shared_ptr<SparsePattern>> patterns)
    : options_(options), patterns_(std::move(patterns)) {
  auto parts = dense_parts(options);
  parts.patterns.push_back(std::make_shared<UnionPattern>(patterns_));
  dense_ = std::make_shared<DenseCore>(options, std::move(parts));
}

bool SparseCore::adds_positions() const { return dense_->adds_positions(); }

std::vector<at::Tensor> SparseCore::weights(const CoreInput& input, const ForwardContext& context) {
  return dense_->weights(input, context);
}

kernels::PartialAttention SparseCore::attend(const SparseGroups& groups,
                                             const kernels::AttentionInput& rows,
                                             const kernels::RngKey& rng_key,
                                             double dropout,
                                             bool by_head) const {
  const auto width = head_dim(options_);
  const auto by_row = [&](const at::Tensor& x) { return by_head ? x.reshape({-1, width}) : x; };
  const auto device = rows.query.device();
  const kernels::AttentionInput input{.query = gather(by_row(rows.query), groups.query_rows),
                                      .key = gather(by_row(rows.key), groups.key_rows),
                                      .value = gather(by_row(rows.value), groups.key_rows),
                                      .groups = groups.groups};
  const auto queries = kernels::Layout::from_offsets(groups.query_offsets, device);
  const auto keys = kernels::Layout::from_offsets(groups.key_offsets, device);
  const kernels::AttentionSettings settings{.heads = by_head ? 1 : options_.heads,
                                            .key_heads = by_head ? 1 : key_heads(options_),
                                            .scale = options_.scale,
                                            .dropout = dropout};
  if (patterns_.size() == 1) {
    return {.out = kernels::attention(input, queries, keys, settings, rng_key)};
  }
  return kernels::partial_attention(input, queries, keys, settings, rng_key);
}

at::Tensor SparseCore::forward(const CoreInput& input, const ForwardContext& context) {
  if (options_.has_distance_bias || !options_.position_modifiers.empty()) {  // not in groups
    return dense_->forward(input, context);
  }
  const auto rows = separated(input, options_);
  const auto sequences = sequences_of(input, rows, context, options_.is_causal);
  const auto width = head_dim(options_);
  const auto tokens = rows.query.size(0);
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> sums;
  for (std::size_t round = 0; round < patterns_.size(); ++round) {
    const std::vector earlier(patterns_.begin(), patterns_.begin() + static_cast<int64_t>(round));
    const auto differs = [](const auto& pattern) { return pattern->differs_by_head(); };
    const bool by_head =
        differs(patterns_[round]) || std::ranges::any_of(earlier, differs);
    const auto groups = sparse_groups(*patterns_[round], earlier, sequences,
                                      {.heads = options_.heads,
                                       .key_heads = key_heads(options_),
                                       .is_causal = options_.is_causal,
                                       .by_head = by_head,
                                       .round = static_cast<int64_t>(round)});
    if (groups.query_rows.empty()) {
      continue;
    }
    const auto result =
        attend(groups, rows, input.rng_key, context.rate(options_.dropout), by_head);
    const auto count = by_head ? tokens * options_.heads : tokens;
    const auto places =
        kernels::to_device(places_of(groups.query_rows, count), rows.query.device());
    outputs.push_back(scatter(result.out, places, 0).view({tokens, options_.heads, width}));
    if (patterns_.size() > 1) {
      sums.push_back(scatter(result.lse, places, -INFINITY).view({tokens, options_.heads, 1}));
    }
  }
  if (outputs.empty()) {
    return at::zeros_like(rows.query);
  }
  if (outputs.size() == 1) {
    return outputs[0].flatten(1);
  }
  const auto shares = at::softmax(at::stack(sums), 0);
  auto out = outputs[0] * shares[0];
  for (std::size_t round = 1; round < outputs.size(); ++round) {
    out = out + outputs[round] * shares[static_cast<int64_t>(round)];
  }
  return out.flatten(1).to(rows.query.scalar_type());
}

}  // namespace weft::nn
