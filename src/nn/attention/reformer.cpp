#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/random.h"
#include "base/string_util.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/kv_cache.h"
#include "nn/attention/row_groups.h"
#include "nn/attention/self_attention.h"
#include "nn/random_tensor.h"

namespace weft::nn {

namespace {

struct ReformerOptions {
  int64_t chunk = 64;
  std::optional<int64_t> buckets = {};
  int64_t rounds = 1;
  int64_t look_back = 1;
  bool redraws = true;
  int64_t seed = 0;
};

/// `alone`: of each query, 1 if it has no other key than itself.
struct HashGroups {
  RowGroups rows;
  std::vector<float> alone;
};

/// Where the rows of a sequence are, and how many queries are at its end.
struct HashedSequence {
  int64_t first_query = 0;
  int64_t first_key = 0;
  int64_t queries = 0;
  int64_t keys = 0;
};

/// Attention among tokens with similar features, found by locality-sensitive hashing
/// (arXiv:2001.04451). Queries and keys are the same projection; keys have length one, and a token
/// attends to itself only if there is no other. The tokens of a bucket are cut into chunks, which
/// attend to themselves and to `look_back` chunks of the bucket before them, so that no later token
/// moves an earlier one. Rounds of hashing are merged by the sums that they divide by.
class ReformerAttention : public Attention {
 public:
  ReformerAttention(const AttentionOptions& options, const ReformerOptions& own)
      : options_(options), own_(own), angles_(options) {
    const auto width = head_dim(options);
    shared_ = register_module(
        "query_key", Linear(LinearOptions{options.dim, options.heads * width, options.has_bias}));
    value_ = register_module(
        "value", Linear(LinearOptions{options.dim, options.heads * width, options.has_bias}));
    output_ = register_module("output", output_projection(options));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto width = head_dim(options_);
    auto query = shared_->forward(x, context);
    if (const auto& table = angles_.table(context.layout.position_limit, x.device());
        table.defined()) {
      query =
          kernels::apply_rotary(query.unflatten(1, {-1, width}), table, context.layout.positions)
              .flatten(1);
    }
    auto key = query;
    auto value = value_->forward(x, context);
    const auto& layout = context.layout;
    std::vector<HashedSequence> sequences;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto first = layout.offsets[static_cast<std::size_t>(b)];
      sequences.push_back({first, first, layout.length(b), layout.length(b)});
    }
    if (context.decoding_state != nullptr) {
      TORCH_CHECK(options_.is_causal, "only causal attention can continue from a KV cache");
      const auto rows = kv_cache_of(context).extend(options_.layer, key, value);
      key = rows.key;
      value = rows.value;
      for (std::size_t b = 0; b < sequences.size(); ++b) {
        sequences[b].first_key = rows.starts[b];
        sequences[b].keys = rows.layout.length(static_cast<int64_t>(b));
      }
    }
    const auto heads = [&](const at::Tensor& rows) { return rows.reshape({-1, width}); };
    return output_->forward(
        attend(heads(query), heads(key), heads(value), sequences, context).view({x.size(0), -1}),
        context);
  }

 private:
  /// One round for all rows; with the log of its sums, if there are others.
  kernels::PartialAttention attend_round(const GroupedRows& rows,
                                         const HashGroups& groups,
                                         const ForwardContext& context) const {
    auto settings = attention_settings(options_, context, /*by_head=*/true);
    settings.scale = 1;
    auto result = attend_in_groups(
        groups.rows, rows, settings,
        context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights)),
        own_.rounds > 1);
    if (!result.lse.defined()) {
      return result;
    }
    constexpr double kSelfScore = -1e5;  // of a token that finds no other in this round
    const auto alone = kernels::to_device(groups.alone, result.lse.device()).unsqueeze(1);
    result.lse = result.lse + alone.to(result.lse.scalar_type()) * kSelfScore;
    return result;
  }

  at::Tensor attend(const at::Tensor& query,
                    const at::Tensor& shared_key,
                    const at::Tensor& value,
                    const std::vector<HashedSequence>& sequences,
                    const ForwardContext& context) const {
    const auto type = kernels::accumulate_type(query);
    const auto norms = shared_key.to(type).norm(2, {1}, true).clamp_min(1e-6);
    const auto key = (shared_key.to(type) / norms).to(shared_key.scalar_type());
    MergedRounds rounds;
    for (int64_t round = 0; round < own_.rounds; ++round) {
      const auto groups = hash_groups(shared_key, sequences, round, context);
      rounds.add(attend_round({.query = query, .key = key, .value = value}, groups, context),
                 groups.rows.query_rows, query.size(0));
    }
    return rounds.merged();
  }

  int64_t buckets_of(int64_t length) const {
    if (own_.buckets) {
      return *own_.buckets;
    }
    return length <= own_.chunk ? 1 : 2 * ((length + 2 * own_.chunk - 1) / (2 * own_.chunk));
  }

  /// Random directions of a round, (K, buckets / 2).
  at::Tensor directions(int64_t buckets, int64_t round, const ForwardContext& context) const {
    const auto step = own_.redraws && context.is_training ? context.step : 0;
    Random random(hash_combine(static_cast<uint64_t>(own_.seed), static_cast<uint64_t>(round)),
                  RandomPurpose::kFeatures, step, static_cast<uint64_t>(options_.layer));
    return normal_tensor({head_dim(options_), buckets / 2}, random);
  }

  /// The bucket of each head of each key of a sequence, (S H): argmax [x R; -x R].
  std::vector<int64_t> hashes(const at::Tensor& key,
                              const HashedSequence& sequence,
                              int64_t round,
                              const ForwardContext& context) const {
    const auto buckets = buckets_of(sequence.keys);
    const auto count = sequence.keys * options_.heads;
    if (buckets == 1) {
      return std::vector<int64_t>(static_cast<std::size_t>(count), 0);
    }
    const auto rows = key.narrow(0, sequence.first_key * options_.heads, count).detach();
    const auto type = kernels::accumulate_type(rows);
    const auto projected =
        at::matmul(rows.to(type), directions(buckets, round, context).to(rows.device()).to(type));
    const auto found = at::cat({projected, -projected}, 1).argmax(1).cpu().contiguous();
    const auto* const values = found.data_ptr<int64_t>();
    return {values, values + count};
  }

  HashGroups hash_groups(const at::Tensor& key,
                         const std::vector<HashedSequence>& sequences,
                         int64_t round,
                         const ForwardContext& context) const {
    HashGroups result;
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const auto& sequence = sequences[b];
      if (sequence.queries == 0) {
        continue;
      }
      const auto own = hashes(key, sequence, round, context);
      int64_t number = first_group_number(round);
      for (int64_t head = 0; head < options_.heads; ++head) {
        std::vector<std::vector<int64_t>> tokens(
            static_cast<std::size_t>(buckets_of(sequence.keys)));
        for (int64_t token = 0; token < sequence.keys; ++token) {
          tokens[static_cast<std::size_t>(
                     own[static_cast<std::size_t>(token * options_.heads + head)])]
              .push_back(token);
        }
        for (const auto& bucket : tokens) {
          add_bucket(bucket, sequence, head, static_cast<int64_t>(b), number, result);
        }
      }
    }
    return result;
  }

  /// The chunks of one bucket, whose tokens are ascending.
  void add_bucket(const std::vector<int64_t>& tokens,
                  const HashedSequence& sequence,
                  int64_t head,
                  int64_t b,
                  int64_t& number,
                  HashGroups& result) const {
    const auto offset = sequence.keys - sequence.queries;
    const auto size = std::ssize(tokens);
    for (int64_t begin = 0; begin < size; begin += own_.chunk, ++number) {
      const auto end = std::min(size, begin + own_.chunk);
      const auto first_key = std::max<int64_t>(0, begin - own_.look_back * own_.chunk);
      const auto words = kernels::AttentionGroups::mask_words(end - first_key);
      auto& mask = result.rows.groups->mask;
      const auto mask_begin = std::ssize(mask);
      const auto queries_before = std::ssize(result.rows.query_rows);
      for (auto i = begin; i < end; ++i) {
        const auto token = tokens[static_cast<std::size_t>(i)];
        if (token < offset) {  // computed by an earlier pass
          continue;
        }
        const auto seen_end = options_.is_causal ? i : end;
        const bool is_alone = first_key == i && seen_end <= i + 1;
        mask.resize(mask.size() + static_cast<std::size_t>(words), 0);
        auto* const row = mask.data() + std::ssize(mask) - words;
        using kernels::AttentionGroups;
        const auto own = i - first_key;  // its place among the keys
        if (is_alone) {
          AttentionGroups::show_keys(row, own, own + 1);
        } else {
          AttentionGroups::show_keys(row, 0, own);
          AttentionGroups::show_keys(row, own + 1, seen_end - first_key);
        }
        result.alone.push_back(is_alone ? 1.0F : 0.0F);
        result.rows.query_rows.push_back((sequence.first_query + token - offset) * options_.heads +
                                         head);
      }
      if (std::ssize(result.rows.query_rows) == queries_before) {
        continue;
      }
      for (auto j = first_key; j < end; ++j) {
        result.rows.key_rows.push_back(
            (sequence.first_key + tokens[static_cast<std::size_t>(j)]) * options_.heads + head);
      }
      result.rows.end_group(b, number, mask_begin);
    }
  }

  AttentionOptions options_;
  ReformerOptions own_;
  RotaryAngles angles_;
  Linear shared_{nullptr};
  Linear value_{nullptr};
  Linear output_{nullptr};
};

}  // namespace

AttentionMaker read_reformer_attention(config::Section& section) {
  ReformerOptions own;
  section.read("chunk", own.chunk,
               {.help = "Tokens of a bucket that attend to each other and to those before them. "
                        "Texts that are not longer have full attention.",
                .unit = "tokens",
                .range = config::between(2, 1 << 20)});
  section.read("buckets", own.buckets,
               {.help = "Buckets of the hash; even. null: about one for each `chunk` tokens of a "
                        "text.",
                .range = config::between(2, 1 << 16)});
  section.read("rounds", own.rounds,
               {.help = "Rounds of hashing: each finds other pairs of tokens.",
                .range = config::between(1, 64)});
  section.read("look_back", own.look_back,
               {.help = "Chunks of the same bucket that a chunk attends to as well.",
                .unit = "chunks",
                .range = config::between(0, 8)});
  section.read("redraw", own.redraws, {.help = "Other hashes in each step of training."});
  section.read("seed", own.seed,
               {.help = "Seed of the hashes.", .range = config::between(0, 1e15)});
  if (own.buckets && *own.buckets % 2 != 0) {
    section.fail("buckets", str_cat("found ", *own.buckets, ", allowed are even numbers"));
  }
  return [own, section](const AttentionOptions& options) {
    if (!own.buckets) {
      require_fixed_pattern(section, "buckets", pattern_options(options));
    }
    if (key_heads(options) != options.heads) {
      section.fail("key_value_heads", "found with 'reformer', whose queries and keys are the same");
    }
    return std::make_shared<ReformerAttention>(options, own);
  };
}

}  // namespace weft::nn
