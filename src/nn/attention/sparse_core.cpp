#include "nn/attention/sparse_core.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "nn/attention/dense_core.h"

namespace weft::nn {

namespace {

/// The keys of any of the patterns.
class UnionPattern : public SparsePattern {
 public:
  explicit UnionPattern(std::vector<std::shared_ptr<SparsePattern>> patterns)
      : patterns_(std::move(patterns)) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    for (const auto& pattern : patterns_) {
      pattern->add_keys(span, head, position, keys);
    }
  }

 private:
  std::vector<std::shared_ptr<SparsePattern>> patterns_;
};

std::vector<SequenceRows> sequences_of(const CoreInput& input,
                                       const kernels::AttentionInput& rows,
                                       const ForwardContext& context,
                                       bool is_causal) {
  std::vector<SequenceRows> result;
  for (int64_t b = 0; b < input.queries.sequences(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    result.push_back({.span = span_of(input, b, is_causal, context),
                      .first_query = input.queries.offsets[i],
                      .first_key = rows.key_begins[i],
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
  dense_ = register_module("dense", std::make_shared<DenseCore>(options, std::move(parts)));
}

bool SparseCore::adds_positions() const { return dense_->adds_positions(); }

std::vector<at::Tensor> SparseCore::weights(const CoreInput& input, const ForwardContext& context) {
  return dense_->weights(input, context);
}

at::Tensor SparseCore::forward(const CoreInput& input, const ForwardContext& context) {
  if (scores_have_positions(options_)) {  // not in groups
    return dense_->forward(input, context);
  }
  const auto rows = separated(input, options_);
  const auto sequences = sequences_of(input, rows, context, options_.is_causal);
  const auto width = head_dim(options_);
  const auto differs = [](const auto& pattern) { return pattern->differs_by_head(); };
  const bool by_head = std::ranges::any_of(patterns_, differs);
  const auto by_row = [&](const at::Tensor& x) { return by_head ? x.reshape({-1, width}) : x; };
  const GroupedRows all{
      .query = by_row(rows.query), .key = by_row(rows.key), .value = by_row(rows.value)};
  const auto settings = attention_settings(options_, context, by_head);
  MergedRounds rounds;
  for (std::size_t round = 0; round < patterns_.size(); ++round) {
    const std::vector earlier(patterns_.begin(), patterns_.begin() + static_cast<int64_t>(round));
    const auto groups = sparse_groups(*patterns_[round], earlier, sequences,
                                      {.heads = options_.heads,
                                       .key_heads = key_heads(options_),
                                       .is_causal = options_.is_causal,
                                       .by_head = by_head,
                                       .round = static_cast<int64_t>(round)});
    if (!groups.query_rows.empty()) {
      rounds.add(attend_in_groups(groups, all, settings, input.rng_key, patterns_.size() > 1),
                 groups.query_rows, all.query.size(0));
    }
  }
  const auto out = rounds.merged();
  return out.defined() ? out.view_as(rows.query) : at::zeros_like(rows.query);
}

}  // namespace weft::nn
