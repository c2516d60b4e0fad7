#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/random.h"
#include "kernels/linear/linear.h"
#include "kernels/softmax.h"
#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/row_groups.h"
#include "nn/attention/self_attention.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

struct ClusteredOptions {
  int64_t clusters = 100;
  int64_t bits = 63;
  int64_t iterations = 10;
  int64_t top = 32;
  int64_t seed = 0;
};

/// Clusters of hashes by k-means with the Hamming distance; the first centres are spread evenly.
std::vector<int64_t> cluster_hashes(const std::vector<uint64_t>& hashes,
                                    int64_t clusters,
                                    int64_t iterations) {
  const auto count = std::ssize(hashes);
  std::vector<int64_t> cluster_of(hashes.size());
  if (clusters >= count) {
    std::iota(cluster_of.begin(), cluster_of.end(), 0);
    return cluster_of;
  }
  std::vector<uint64_t> centres;
  for (int64_t c = 0; c < clusters; ++c) {
    centres.push_back(hashes[static_cast<std::size_t>(c * count / clusters)]);
  }
  constexpr int kBits = 64;
  for (int64_t iteration = 0; iteration <= iterations; ++iteration) {
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      int nearest = kBits + 1;
      for (int64_t c = 0; c < clusters; ++c) {
        const auto distance = std::popcount(hashes[i] ^ centres[static_cast<std::size_t>(c)]);
        if (distance < nearest) {
          nearest = distance;
          cluster_of[i] = c;
        }
      }
    }
    if (iteration == iterations) {
      break;
    }
    std::vector<int64_t> votes(static_cast<std::size_t>(clusters * kBits));
    std::vector<int64_t> sizes(static_cast<std::size_t>(clusters));
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      ++sizes[static_cast<std::size_t>(cluster_of[i])];
      for (int bit = 0; bit < kBits; ++bit) {
        votes[static_cast<std::size_t>(cluster_of[i] * kBits + bit)] +=
            static_cast<int64_t>(hashes[i] >> bit & 1U);
      }
    }
    for (int64_t c = 0; c < clusters; ++c) {
      const auto size = sizes[static_cast<std::size_t>(c)];
      if (size == 0) {
        continue;  // keeps its centre
      }
      uint64_t centre = 0;
      for (int bit = 0; bit < kBits; ++bit) {
        if (2 * votes[static_cast<std::size_t>(c * kBits + bit)] > size) {
          centre |= uint64_t{1} << bit;
        }
      }
      centres[static_cast<std::size_t>(c)] = centre;
    }
  }
  return cluster_of;
}

/// Queries in clusters, whose centres attend to the keys for all of their members
/// (arXiv:2007.04825). Improved: the members attend to the best `top` keys themselves, with the
/// weight that the centre gives to these keys together.
class ClusteredCore : public AttentionCore {
 public:
  ClusteredCore(const AttentionOptions& options, const ClusteredOptions& own)
      : options_(options), own_(own) {
    Random random(static_cast<uint64_t>(own.seed), RandomPurpose::kFeatures, 0,
                  static_cast<uint64_t>(options.layer));
    const auto planes = normal_tensor({own.bits, head_dim(options) + 1}, random);
    planes_ = register_buffer("planes", planes.to(at::kFloat));
  }

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override {
    const auto rows = separated(input, options_);
    std::vector<at::Tensor> parts;  // (l, H, K) each
    RowGroups groups;
    std::vector<at::Tensor> shares;  // of the top keys, (l, H) each
    for (int64_t b = 0; b < input.queries.sequences(); ++b) {
      if (input.queries.length(b) > 0) {
        add_sequence(rows, input, b, parts, groups, shares);
      }
    }
    if (parts.empty()) {
      return at::zeros_like(rows.query);
    }
    auto out = at::cat(parts);  // (N, H, K)
    if (own_.top > 0) {
      const auto width = head_dim(options_);
      const auto by_head = [&](const at::Tensor& x) { return x.reshape({-1, width}); };
      MergedRounds members;
      members.add(attend_in_groups(groups,
                                   {.query = by_head(rows.query),
                                    .key = by_head(rows.key),
                                    .value = by_head(rows.value)},
                                   attention_settings(options_, context, /*by_head=*/true),
                                   input.rng_key, false),
                  groups.query_rows, rows.query.size(0) * options_.heads);
      out = out + members.merged().view(out.sizes()) * at::cat(shares).unsqueeze(2);
    }
    const auto mixed = out.flatten(1).to(rows.query.scalar_type());
    return own_.top > 0 ? mixed : drop_mixed_values(mixed, options_, input, context);
  }

 private:
  /// The cluster of each query of each head, (H, l).
  std::vector<std::vector<int64_t>> clusters_of(const at::Tensor& query) const {
    const at::NoGradGuard guard;
    const auto planes = planes_.to(query.scalar_type());
    const auto width = query.size(2);
    const auto sides =
        (kernels::batched_product(query, planes.narrow(1, 0, width).t()) + planes.select(1, width))
            .gt(0)
            .cpu()
            .contiguous();  // (H, l, bits)
    const auto* const values = sides.data_ptr<bool>();
    std::vector<std::vector<int64_t>> result;
    for (int64_t head = 0; head < query.size(0); ++head) {
      std::vector<uint64_t> hashes(static_cast<std::size_t>(query.size(1)));
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        const auto* const row =
            values + (head * query.size(1) + static_cast<int64_t>(i)) * own_.bits;
        for (int64_t bit = 0; bit < own_.bits; ++bit) {
          hashes[i] |= static_cast<uint64_t>(row[bit] ? 1 : 0) << bit;
        }
      }
      result.push_back(cluster_hashes(hashes, own_.clusters, own_.iterations));
    }
    return result;
  }

  void add_sequence(const kernels::AttentionInput& rows,
                    const CoreInput& input,
                    int64_t b,
                    std::vector<at::Tensor>& parts,
                    RowGroups& groups,
                    std::vector<at::Tensor>& shares) const {
    const auto query = heads_of_sequence(rows.query, input.queries, b, options_);
    const auto key = heads_of_sequence(rows.key, input.queries, b, options_);
    const auto value = heads_of_sequence(rows.value, input.queries, b, options_);
    const auto length = query.size(1);
    const auto count = std::min(own_.clusters, length);
    const auto cluster_of = clusters_of(query);
    auto members = at::zeros({options_.heads, count, length}, at::kDouble);
    std::vector<int64_t> clusters;  // (H l), with the head
    for (int64_t head = 0; head < options_.heads; ++head) {
      for (int64_t i = 0; i < length; ++i) {
        const auto cluster =
            cluster_of[static_cast<std::size_t>(head)][static_cast<std::size_t>(i)];
        members[head][cluster][i] = 1;
        clusters.push_back(head * count + cluster);
      }
    }
    const auto means = (members / members.sum(2, true).clamp_min(1)).to(query.options());
    const auto centres = kernels::batched_product(means, query);
    const auto scores = kernels::batched_product(centres, key.transpose(1, 2));
    auto weights = kernels::softmax(scores * score_scale(options_));  // (H, C, l)
    const auto index = kernels::to_device(clusters, query.device());
    const auto of_queries = [&](const at::Tensor& x) {  // (H, C, ...) -> (l, H, ...)
      return x.flatten(0, 1)
          .index_select(0, index)
          .unflatten(0, {options_.heads, length})
          .transpose(0, 1);
    };
    if (own_.top > 0) {
      const auto top = std::get<1>(weights.detach().topk(std::min(own_.top, length), 2));
      const auto is_top = at::zeros_like(weights).scatter(2, top, 1.0);
      shares.push_back(of_queries((weights * is_top).sum(2)));
      weights = weights * (1 - is_top);
      add_groups(top.cpu(), cluster_of, input, b, groups);
    }
    parts.push_back(of_queries(kernels::batched_product(weights, value)));
  }

  /// A group for each cluster: its members and its top keys, (H, C, t).
  void add_groups(const at::Tensor& top,
                  const std::vector<std::vector<int64_t>>& cluster_of,
                  const CoreInput& input,
                  int64_t b,
                  RowGroups& groups) const {
    const auto keys = std::get<0>(top.sort(2)).contiguous();
    const auto* const values = keys.data_ptr<int64_t>();
    const auto first = input.queries.offsets[static_cast<std::size_t>(b)];
    const auto shared = key_heads(options_);
    for (int64_t head = 0; head < options_.heads; ++head) {
      std::vector<std::vector<int64_t>> members(static_cast<std::size_t>(top.size(1)));
      for (std::size_t i = 0; i < cluster_of[static_cast<std::size_t>(head)].size(); ++i) {
        members[static_cast<std::size_t>(cluster_of[static_cast<std::size_t>(head)][i])].push_back(
            static_cast<int64_t>(i));
      }
      for (std::size_t c = 0; c < members.size(); ++c) {
        if (members[c].empty()) {
          continue;
        }
        for (const auto i : members[c]) {
          groups.query_rows.push_back((first + i) * options_.heads + head);
        }
        const auto* const own =
            values + (head * top.size(1) + static_cast<int64_t>(c)) * top.size(2);
        for (int64_t k = 0; k < top.size(2); ++k) {
          groups.key_rows.push_back((first + own[k]) * shared + head / (options_.heads / shared));
        }
        groups.end_group(b, head * top.size(1) + static_cast<int64_t>(c));
      }
    }
  }

  AttentionOptions options_;
  ClusteredOptions own_;
  at::Tensor planes_;  // (bits, K + 1), the last column is the bias
};

}  // namespace

AttentionMaker read_clustered_attention(config::Section& section) {
  ClusteredOptions own;
  section.read("clusters", own.clusters,
               {.help = "Clusters of the queries of a text, in each head.",
                .range = config::between(1, 1 << 16)});
  section.read("bits", own.bits,
               {.help = "Bits of the hashes that are clustered.", .range = config::between(1, 63)});
  section.read("iterations", own.iterations,
               {.help = "Iterations of k-means.", .range = config::between(0, 1000)});
  section.read("top", own.top,
               {.help = "Keys of a cluster that its queries attend to themselves. 0: none.",
                .unit = "tokens",
                .range = config::between(0, 1 << 16)});
  section.read("seed", own.seed,
               {.help = "Seed of the hashes.", .range = config::between(0, 1e15)});
  return [own, section](const AttentionOptions& options) {
    refuse_causal(section, options.is_causal, "clustered",
                  "clusters contain later queries; full, window and performer are causal");
    return attention_with_core(options, std::make_shared<ClusteredCore>(options, own));
  };
}

}  // namespace weft::nn
