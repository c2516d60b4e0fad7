#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "base/random.h"
#include "base/string_util.h"
#include "kernels/sum.h"
#include "nn/attention/approximations/bucketed_attention.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/patterns/sparse_pattern.h"
#include "nn/initial_values.h"

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

/// Attention among tokens with similar features, found by locality-sensitive hashing
/// (arXiv:2001.04451). Keys have length one, and a token attends to itself only if there is no
/// other.
class ReformerAttention : public BucketedAttention {
 public:
  ReformerAttention(const AttentionOptions& options, const ReformerOptions& own)
      : BucketedAttention(
            options, {.look_back = own.look_back, .rounds = own.rounds, .prefers_others = true}),
        own_(own) {}

 protected:
  at::Tensor keys(const at::Tensor& projected) const override {
    const auto type = kernels::accumulate_type(projected);
    const auto norms = projected.to(type).norm(2, {1}, true).clamp_min(1e-6);
    return (projected.to(type) / norms).to(projected.scalar_type());
  }

  int64_t chunk(int64_t /*length*/) const override { return own_.chunk; }

  /// argmax [x R; -x R]
  std::vector<int64_t> buckets(const at::Tensor& key,
                               int64_t round,
                               const ForwardContext& context) const override {
    const auto count = buckets_of(key.size(0) / options().heads);
    if (count == 1) {
      return std::vector<int64_t>(static_cast<std::size_t>(key.size(0)), 0);
    }
    const auto type = kernels::accumulate_type(key);
    const auto projected = at::matmul(key.detach().to(type),
                                      directions(count, round, context).to(key.device()).to(type));
    const auto found = at::cat({projected, -projected}, 1).argmax(1).cpu().contiguous();
    const auto* const values = found.data_ptr<int64_t>();
    return {values, values + key.size(0)};
  }

 private:
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
                  RandomPurpose::kFeatures, step, static_cast<uint64_t>(options().layer));
    return normal_tensor({head_dim(options()), buckets / 2}, random);
  }

  ReformerOptions own_;
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
    require_own_keys(section, options, "reformer");
    return std::make_shared<ReformerAttention>(options, own);
  };
}

}  // namespace weft::nn
