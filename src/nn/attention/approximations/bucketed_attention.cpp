#include "nn/attention/approximations/bucketed_attention.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/kv_cache.h"

namespace weft::nn {

SharedKeyAttention::SharedKeyAttention(const AttentionOptions& options, const BucketedOptions& own)
    : options_(options), own_(own), angles_(options) {
  const LinearOptions projection{options.dim, options.heads * head_dim(options), options.has_bias};
  shared_ = register_module("query_key", Linear(projection));
  value_ = register_module("value", Linear(projection));
  output_ = register_module("output", output_projection(options));
}

kernels::AttentionSettings SharedKeyAttention::settings(const ForwardContext& context) const {
  auto result = attention_settings(options_, context, /*by_head=*/true);
  result.scale = own_.scale;
  return result;
}

kernels::RngKey SharedKeyAttention::rng_key(const ForwardContext& context) const {
  return context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights));
}

at::Tensor SharedKeyAttention::forward(const at::Tensor& x, const ForwardContext& context) {
  const auto width = head_dim(options_);
  auto query = shared_->forward(x, context);
  if (const auto& table = angles_.table(context.layout, x.device()); table.defined()) {
    query = kernels::apply_rotary(query.unflatten(1, {-1, width}), table, context.layout.positions)
                .flatten(1);
  }
  auto key = query;
  auto value = value_->forward(x, context);
  const auto& layout = context.layout;
  std::vector<BucketedSequence> sequences;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto first = layout.offsets[static_cast<std::size_t>(b)];
    sequences.push_back({first, first, layout.length(b), layout.length(b)});
  }
  if (context.decoding_state != nullptr) {
    TORCH_CHECK(options_.is_causal, "only causal attention can continue from a KV cache");
    const auto rows = kv_cache_of(context).extend(context.depth(options_.layer), key, value);
    key = rows.key;
    value = rows.value;
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      sequences[b].first_key = rows.starts[b];
      sequences[b].keys = rows.layout.length(static_cast<int64_t>(b));
    }
  }
  const auto heads = [&](const at::Tensor& rows) { return rows.reshape({-1, width}); };
  const GroupedRows rows{
      .query = queries(heads(query)), .key = keys(heads(key)), .value = heads(value)};
  return output_->forward(attend(rows, sequences, context).view({x.size(0), -1}), context);
}

kernels::PartialAttention SharedKeyAttention::attend_round(const GroupedRows& rows,
                                                           const BucketedGroups& groups,
                                                           const ForwardContext& context) const {
  auto result =
      attend_in_groups(groups.rows, rows, settings(context), rng_key(context), own_.rounds > 1);
  if (!result.lse.defined() || !own_.prefers_others) {
    return result;
  }
  constexpr double kSelfScore = -1e5;  // of a token that finds no other in this round
  const auto alone = kernels::to_device(groups.alone, result.lse.device()).unsqueeze(1);
  result.lse = result.lse + alone.to(result.lse.scalar_type()) * kSelfScore;
  return result;
}

at::Tensor BucketedAttention::attend(const GroupedRows& rows,
                                     const std::vector<BucketedSequence>& sequences,
                                     const ForwardContext& context) const {
  MergedRounds rounds;
  for (int64_t round = 0; round < bucketed().rounds; ++round) {
    const auto groups = groups_of_round(rows.key, sequences, round, context);
    rounds.add(attend_round(rows, groups, context), groups.rows.query_rows, rows.query.size(0));
  }
  return rounds.merged();
}

BucketedGroups BucketedAttention::groups_of_round(const at::Tensor& key,
                                                  const std::vector<BucketedSequence>& sequences,
                                                  int64_t round,
                                                  const ForwardContext& context) const {
  BucketedGroups result;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const auto& sequence = sequences[b];
    if (sequence.queries == 0) {
      continue;
    }
    const auto own = buckets(
        key.narrow(0, sequence.first_key * options().heads, sequence.keys * options().heads), round,
        context);
    const auto count = static_cast<std::size_t>(1 + *std::ranges::max_element(own));
    int64_t number = first_group_number(round);
    for (int64_t head = 0; head < options().heads; ++head) {
      std::vector<std::vector<int64_t>> tokens(count);
      for (int64_t token = 0; token < sequence.keys; ++token) {
        const auto row = static_cast<std::size_t>(token * options().heads + head);
        tokens[static_cast<std::size_t>(own[row])].push_back(token);
      }
      for (const auto& bucket : tokens) {
        add_bucket(bucket, sequence, static_cast<int64_t>(b), head, number, result);
      }
    }
  }
  return result;
}

void BucketedAttention::add_bucket(const std::vector<int64_t>& tokens,
                                   const BucketedSequence& sequence,
                                   int64_t b,
                                   int64_t head,
                                   int64_t& number,
                                   BucketedGroups& result) const {
  const auto offset = sequence.keys - sequence.queries;
  const auto size = std::ssize(tokens);
  const auto chunk_size = chunk(sequence.keys);
  for (int64_t begin = 0; begin < size; begin += chunk_size, ++number) {
    const auto end = std::min(size, begin + chunk_size);
    const auto first_key = std::max<int64_t>(0, begin - bucketed().look_back * chunk_size);
    const auto words = kernels::AttentionGroups::mask_words(end - first_key);
    auto& mask = result.rows.groups->mask;
    const auto mask_begin = std::ssize(mask);
    const auto queries_before = std::ssize(result.rows.query_rows);
    for (auto i = begin; i < end; ++i) {
      const auto token = tokens[static_cast<std::size_t>(i)];
      if (token < offset) {  // computed by an earlier pass
        continue;
      }
      const auto seen_end = options().is_causal ? i + 1 : end;
      const bool is_alone = first_key == i && seen_end == i + 1;
      mask.resize(mask.size() + static_cast<std::size_t>(words), 0);
      auto* const row = mask.data() + std::ssize(mask) - words;
      using kernels::AttentionGroups;
      const auto own = i - first_key;  // its place among the keys
      if (is_alone || !bucketed().prefers_others) {
        AttentionGroups::show_keys(row, 0, seen_end - first_key);
      } else {
        AttentionGroups::show_keys(row, 0, own);
        AttentionGroups::show_keys(row, own + 1, seen_end - first_key);
      }
      result.alone.push_back(is_alone ? 1.0F : 0.0F);
      result.rows.query_rows.push_back((sequence.first_query + token - offset) * options().heads +
                                       head);
    }
    if (std::ssize(result.rows.query_rows) == queries_before) {
      continue;
    }
    for (auto j = first_key; j < end; ++j) {
      result.rows.key_rows.push_back(
          (sequence.first_key + tokens[static_cast<std::size_t>(j)]) * options().heads + head);
    }
    result.rows.end_group(b, number, mask_begin);
  }
}

void require_own_keys(const config::Section& section,
                      const AttentionOptions& options,
                      std::string_view type) {
  if (key_heads(options) != options.heads) {
    section.fail("key_value_heads",
                 str_cat("found with '", type, "', whose queries and keys are the same"));
  }
}

}  // namespace weft::nn
