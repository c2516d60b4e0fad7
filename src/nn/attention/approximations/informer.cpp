#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/random.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/row_groups.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

namespace {

struct InformerOptions {
  int64_t factor = 5;
  bool samples = true;
  int64_t seed = 0;
};

/// One head of one sequence: rows are heads of tokens, token * heads + head.
struct HeadOfSequence {
  int64_t sequence = 0;
  int64_t head = 0;
  std::vector<int64_t> active;  // positions of the active queries, ascending
};

/// ProbSparse attention (arXiv:2012.07436, section 3): only the queries whose scores are furthest
/// from uniform attend to the keys; the result of the others is the mean of the values. How far is
/// measured on a sample of the keys.
class InformerCore : public AttentionCore {
 public:
  InformerCore(AttentionOptions options, const InformerOptions& own)
      : options_(std::move(options)), own_(own) {}

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override {
    const auto rows = separated(input, options_);
    const auto width = head_dim(options_);
    const auto copies = options_.heads / key_heads(options_);
    const auto tokens = rows.query.size(0);
    if (tokens == 0) {
      return at::zeros_like(rows.query);
    }
    RowGroups groups;
    for (const auto& head : active_queries(rows, input, context)) {
      const auto first = input.queries.offsets[static_cast<std::size_t>(head.sequence)];
      for (const auto query : head.active) {
        groups.query_rows.push_back((first + query) * options_.heads + head.head);
      }
      for (int64_t key = 0; key < input.queries.length(head.sequence); ++key) {
        groups.key_rows.push_back((first + key) * key_heads(options_) + head.head / copies);
      }
      groups.end_group(head.sequence, head.head);
    }
    const auto by_head = [&](const at::Tensor& x) { return x.reshape({-1, width}); };
    const auto active = attend_in_groups(
        groups,
        {.query = by_head(rows.query), .key = by_head(rows.key), .value = by_head(rows.value)},
        attention_settings(options_, context, /*by_head=*/true), input.rng_key, false);
    return mean_values(rows, input, width)
        .index_copy(0, kernels::to_device(groups.query_rows, rows.query.device()), active.out)
        .view({tokens, -1});
  }

 private:
  /// The mean value of the sequence for each head of each token, (N H, K).
  at::Tensor mean_values(const kernels::AttentionInput& rows,
                         const CoreInput& input,
                         int64_t width) const {
    std::vector<at::Tensor> means;
    for (int64_t b = 0; b < input.queries.sequences(); ++b) {
      const auto length = input.queries.length(b);
      const auto own =
          rows.value.narrow(0, input.queries.offsets[static_cast<std::size_t>(b)], length);
      if (length > 0) {
        means.push_back(own.to(kernels::accumulate_type(own)).mean(0, true).expand({length, -1}));
      }
    }
    const auto heads = at::cat(means).unflatten(1, {-1, width});
    return at::repeat_interleave(heads, options_.heads / heads.size(1), 1)
        .reshape({-1, width})
        .to(rows.value.scalar_type());
  }

  static int64_t share(int64_t factor, int64_t length) {
    const auto logarithm = std::ceil(std::log(static_cast<double>(length)));
    return std::min(length, factor * std::max<int64_t>(1, static_cast<int64_t>(logarithm)));
  }

  /// The keys that each query of a text of this length measures, (l, U): the same for all texts of
  /// this length and for all heads.
  at::Tensor sampled_keys(int64_t length, const ForwardContext& context) const {
    const auto count = share(own_.factor, length);
    auto keys = at::empty({length, count}, at::kLong);
    Random random(hash_combine(static_cast<uint64_t>(own_.seed), static_cast<uint64_t>(length)),
                  RandomPurpose::kFeatures, context.is_training ? context.step : 0,
                  static_cast<uint64_t>(options_.layer));
    auto* const values = keys.data_ptr<int64_t>();
    std::generate(values, values + keys.numel(), [&] {
      return static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(length)));
    });
    return keys;
  }

  /// Max minus mean of the scores of each query, (H, l). As in the authors' code, the sum over the
  /// sample is divided by the number of all keys.
  at::Tensor sparsity(const at::Tensor& query,
                      const at::Tensor& key,
                      const ForwardContext& context) const {
    const auto length = query.size(1);
    const auto divisor = static_cast<double>(length);
    if (!own_.samples) {
      const auto scores = kernels::batched_product(query, key.transpose(1, 2));
      return scores.amax({2}) - scores.sum(2) / divisor;
    }
    const auto sample = kernels::to_device(sampled_keys(length, context), key.device());
    const auto keys = key.index_select(1, sample.flatten())
                          .view({key.size(0), length, sample.size(1), key.size(2)});
    const auto scores =
        kernels::batched_product(keys, query.unsqueeze(-1)).squeeze(-1);  // (H, l, U)
    return scores.amax({2}) - scores.sum(2) / divisor;
  }

  std::vector<HeadOfSequence> active_queries(const kernels::AttentionInput& rows,
                                             const CoreInput& input,
                                             const ForwardContext& context) const {
    const at::NoGradGuard guard;
    std::vector<HeadOfSequence> result;
    for (int64_t b = 0; b < input.queries.sequences(); ++b) {
      const auto length = input.queries.length(b);
      if (length == 0) {
        continue;
      }
      const auto count = share(own_.factor, length);
      std::vector<int64_t> chosen(static_cast<std::size_t>(length));
      at::Tensor measured;
      if (count < length) {
        const auto heads = [&](const at::Tensor& x) {
          return heads_of_sequence(x, input.queries, b, options_);
        };
        measured = sparsity(heads(rows.query), heads(rows.key), context).cpu().to(at::kDouble);
      }
      for (int64_t head = 0; head < options_.heads; ++head) {
        std::iota(chosen.begin(), chosen.end(), 0);
        auto active = chosen;
        if (measured.defined()) {
          const auto own = measured[head].contiguous();
          const auto* const values = own.data_ptr<double>();
          std::stable_sort(active.begin(), active.end(),
                           [&](int64_t a, int64_t c) { return values[a] > values[c]; });
          active.resize(static_cast<std::size_t>(count));
          std::ranges::sort(active);
        }
        result.push_back({.sequence = b, .head = head, .active = std::move(active)});
      }
    }
    return result;
  }

  AttentionOptions options_;
  InformerOptions own_;
};

}  // namespace

AttentionMaker read_informer_attention(config::Section& section) {
  InformerOptions own;
  section.read(
      "factor", own.factor,
      {.help = "factor * ceil(ln(length)) queries attend to the keys, and are chosen by as "
               "many sampled keys.",
       .range = config::between(1, 1024)});
  section.read("sample", own.samples,
               {.help = "Choose the queries by a sample of the keys. false: by all of them, which "
                        "takes quadratic time."});
  section.read("seed", own.seed,
               {.help = "Seed of the sample.", .range = config::between(0, 1e15)});
  return [own, section](const AttentionOptions& options) {
    refuse_causal(
        section, options.is_causal, "informer",
        "queries are chosen among those of the whole text; full, window and performer are causal");
    return attention_with_core(options, std::make_shared<InformerCore>(options, own));
  };
}

}  // namespace weft::nn
