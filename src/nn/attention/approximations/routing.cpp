#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/approximations/bucketed_attention.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/patterns/sparse_pattern.h"
#include "nn/auxiliary_losses.h"

namespace weft::nn {

namespace {

enum class Assignment { kNearest, kTop };

struct RoutingOptions {
  int64_t clusters = 16;
  std::optional<int64_t> window = {};
  Assignment assign = Assignment::kNearest;
  int64_t local_heads = 0;
  double commitment = 0;
  bool is_loosely_causal = false;
};

/// Attention among the tokens near the same centroid (arXiv:2003.05997), in some heads only among
/// neighbouring tokens. Queries and keys are the same projection, scaled to mean 0 and variance 1.
/// The centroids are parameters that an auxiliary loss moves towards their tokens, rather than
/// moving averages; so they are trained, stored and resumed like all others.
class RoutingAttention : public BucketedAttention {
 public:
  RoutingAttention(const AttentionOptions& options, const RoutingOptions& own)
      : BucketedAttention(options, {.look_back = 1, .rounds = 1, .scale = score_scale(options)}),
        own_(own) {
    if (own.local_heads < options.heads) {
      centroids_ = register_parameter("centroids", at::empty({options.heads - own.local_heads,
                                                              own.clusters, head_dim(options)}));
    }
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    if (context.decoding_state != nullptr && own_.assign == Assignment::kTop) {
      throw UserError(
          "attention.assign: a model with 'top' is not causal and cannot generate; allowed is "
          "'nearest'");
    }
    return BucketedAttention::forward(x, context);
  }

 protected:
  at::Tensor queries(const at::Tensor& projected) const override { return keys(projected); }
  at::Tensor keys(const at::Tensor& projected) const override {
    return at::layer_norm(projected.to(kernels::accumulate_type(projected)), {projected.size(1)})
        .to(projected.scalar_type());
  }

  int64_t chunk(int64_t length) const override {
    return own_.window ? *own_.window : (length + own_.clusters - 1) / own_.clusters;
  }

  /// The nearest centroid; 0 in local heads and where a text is a single chunk anyway.
  std::vector<int64_t> buckets(const at::Tensor& key,
                               int64_t /*round*/,
                               const ForwardContext& context) const override {
    std::vector<int64_t> result(static_cast<std::size_t>(key.size(0)), 0);
    const auto length = key.size(0) / options().heads;
    if (!centroids_.defined()) {
      return result;
    }
    const auto cosines = similarities(key, context);
    if (!options().is_causal && length <= chunk(length)) {
      return result;
    }
    const auto nearest = cosines.argmax(2).cpu().contiguous();  // (H', l)
    const auto* const values = nearest.data_ptr<int64_t>();
    for (int64_t head = own_.local_heads; head < options().heads; ++head) {
      for (int64_t i = 0; i < length; ++i) {
        result[static_cast<std::size_t>(i * options().heads + head)] =
            values[(head - own_.local_heads) * length + i];
      }
    }
    return result;
  }

  at::Tensor attend(const GroupedRows& rows,
                    const std::vector<BucketedSequence>& sequences,
                    const ForwardContext& context) const override {
    if (own_.assign == Assignment::kNearest) {
      return BucketedAttention::attend(rows, sequences, context);
    }
    BucketedGroups groups;
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      if (sequences[b].queries > 0) {
        add_top_tokens(rows.key, sequences[b], static_cast<int64_t>(b), context, groups);
      }
    }
    const auto mixed =
        attend_in_groups(groups.rows, rows, settings(context), rng_key(context), false).out;
    return mean_by_row(mixed, groups.rows.query_rows, rows.query.size(0));
  }

 private:
  /// Cosines of the centroids and the tokens of a sequence, (H', l, C). Adds the auxiliary loss.
  at::Tensor similarities(const at::Tensor& key, const ForwardContext& context) const {
    constexpr double kLeast = 1e-6;
    const auto type = kernels::accumulate_type(key);
    const auto unit = [&](const at::Tensor& x) {
      return x / x.norm(2, {2}, /*keepdim=*/true).clamp_min(kLeast);
    };
    const auto tokens = unit(key.to(type)
                                 .view({-1, options().heads, key.size(1)})
                                 .slice(1, own_.local_heads)
                                 .transpose(0, 1));  // (H', l, K)
    const auto centroids = unit(centroids_.to(type));
    const auto cosines = [](const at::Tensor& x, const at::Tensor& y) {
      return kernels::batched_product(x, y.transpose(1, 2));
    };
    const auto result = cosines(tokens.detach(), centroids);
    if (context.auxiliary_losses != nullptr) {
      add_loss("routing_clusters", result, 1, context);
      if (own_.commitment > 0) {
        add_loss("routing_commitment", cosines(tokens, centroids.detach()), own_.commitment,
                 context);
      }
    }
    return result.detach();
  }

  /// Half the squared distance of each token from its nearest centroid, which is 1 - their cosine.
  static void add_loss(const char* name,
                       const at::Tensor& cosines,
                       double weight,
                       const ForwardContext& context) {
    const auto nearest = std::get<0>(cosines.max(2));  // (H', l)
    context.auxiliary_losses->add(
        {.name = name,
         .sum = kernels::deterministic_sum(1 - nearest) / static_cast<double>(cosines.size(0)),
         .weight = weight});
  }

  /// For each centroid, a group of the tokens that are nearest to it; local heads in chunks.
  void add_top_tokens(const at::Tensor& key,
                      const BucketedSequence& sequence,
                      int64_t b,
                      const ForwardContext& context,
                      BucketedGroups& groups) const {
    const auto length = sequence.keys;
    std::vector<int64_t> all(static_cast<std::size_t>(length));
    std::iota(all.begin(), all.end(), 0);
    int64_t number = 0;
    for (int64_t head = 0; head < own_.local_heads; ++head) {
      add_bucket(all, sequence, b, head, number, groups);
    }
    if (!centroids_.defined()) {
      return;
    }
    const auto heads = options().heads;
    const auto count = std::min(chunk(length), length);
    const auto scores =
        similarities(key.narrow(0, sequence.first_key * heads, length * heads), context);
    const auto top = std::get<0>(std::get<1>(scores.transpose(1, 2).topk(count, 2)).sort(2))
                         .cpu()
                         .contiguous();  // (H', C, w)
    const auto* tokens = top.data_ptr<int64_t>();
    for (int64_t head = own_.local_heads; head < heads; ++head) {
      for (int64_t c = 0; c < own_.clusters; ++c, tokens += count) {
        // One chunk each: no more tokens than those of a chunk.
        add_bucket({tokens, tokens + count}, sequence, b, head, number, groups);
      }
    }
  }

  /// The mean of the rows of each place; zero without any.
  static at::Tensor mean_by_row(const at::Tensor& x,
                                const std::vector<int64_t>& places,
                                int64_t count) {
    std::vector<float> shares(static_cast<std::size_t>(count), 0);
    for (const auto place : places) {
      ++shares[static_cast<std::size_t>(place)];
    }
    for (auto& share : shares) {
      share = share > 0 ? 1 / share : 0;
    }
    const auto type = kernels::accumulate_type(x);
    const auto index = kernels::to_device(places, x.device());
    const auto sums =
        at::zeros({count, x.size(1)}, x.options().dtype(type)).index_add(0, index, x.to(type));
    return (sums * kernels::to_device(shares, x.device()).to(type).unsqueeze(1))
        .to(x.scalar_type());
  }

  RoutingOptions own_;
  at::Tensor centroids_;  // (H', C, K)
};

}  // namespace

AttentionMaker read_routing_attention(config::Section& section) {
  RoutingOptions own;
  std::optional<int64_t> local_heads;
  section.read("clusters", own.clusters,
               {.help = "Centroids of each head.", .range = config::between(1, 1 << 16)});
  section.read("window", own.window,
               {.help = "Tokens of a cluster that attend to each other and to as many before them. "
                        "null: the length of the text / clusters. Required if causal.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read_choice(
      "assign", own.assign, {{"nearest", Assignment::kNearest}, {"top", Assignment::kTop}},
      {.help = "nearest: each token belongs to the centroid that is nearest to it. top: each "
               "centroid takes the `window` tokens that are nearest to it, as published; a token "
               "may belong to several or to none."});
  section.read("local_heads", local_heads,
               {.help = "Heads that attend to neighbouring tokens instead. null: half of them.",
                .range = config::between(0, 1 << 16)});
  section.read("commitment", own.commitment,
               {.help = "Weight of a loss that moves tokens towards their centroids.",
                .range = config::between(0, 1e6)});
  section.read("loose_causal", own.is_loosely_causal,
               {.help = "Allows assign: top in a causal model, though later tokens change which "
                        "clusters an earlier one belongs to. Such a model cannot generate."});
  return [given = own, local_heads, section](const AttentionOptions& options) {
    auto routing = given;
    routing.local_heads = local_heads.value_or(options.heads / 2);
    if (routing.local_heads > options.heads) {
      section.fail("local_heads", str_cat("found ", routing.local_heads, ", allowed are 0 to the ",
                                          options.heads, " heads"));
    }
    if (!routing.window) {
      require_fixed_pattern(section, "window", pattern_options(options));
    }
    if (options.is_causal && routing.assign == Assignment::kTop && !routing.is_loosely_causal) {
      section.fail("assign",
                   "found 'top' in a causal model, where later tokens change the clusters of "
                   "earlier ones; allowed is 'nearest', or loose_causal: true");
    }
    require_own_keys(section, options, "routing");
    return std::make_shared<RoutingAttention>(options, routing);
  };
}

}  // namespace weft::nn
