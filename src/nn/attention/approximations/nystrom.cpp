#include "nn/attention/approximations/nystrom.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"
#include "nn/convolution/time_convolution.h"

namespace weft::nn {

namespace {

/// (m, l): row s averages the tokens from floor(s l / m) up to floor((s + 1) l / m).
at::Tensor segment_means(int64_t segments, int64_t length, const at::TensorOptions& options) {
  auto means = at::zeros({segments, length}, at::kDouble);
  for (int64_t s = 0; s < segments; ++s) {
    const auto begin = s * length / segments;
    const auto count = (s + 1) * length / segments - begin;
    means[s].narrow(0, begin, count).fill_(1.0 / static_cast<double>(count));
  }
  return means.to(options);
}

/// The pseudo-inverse of x (H, m, m), whose rows sum to 1, by the iteration of arXiv:2102.03902,
/// equation 13.
at::Tensor iterative_inverse(const at::Tensor& x, const NystromOptions& own) {
  const auto identity = at::eye(x.size(-1), x.options());
  const auto column_sums = x.sum(1, /*keepdim=*/true);  // (H, 1, m)
  auto z = x.transpose(1, 2) /
           (own.has_common_start ? column_sums.max() : column_sums.amax({2}, /*keepdim=*/true));
  for (int64_t i = 0; i < own.iterations; ++i) {
    const auto xz = kernels::batched_product(x, z);
    z = kernels::batched_product(
            z, 13 * identity -
                   kernels::batched_product(
                       xz, 15 * identity - kernels::batched_product(xz, 7 * identity - xz))) /
        4;
  }
  return z;
}

/// Softmax attention through landmarks, which are means of segments of the queries and keys; a
/// convolution of the values over time is added.
class NystromCore : public AttentionCore {
 public:
  NystromCore(const AttentionOptions& options, const NystromOptions& own)
      : options_(options), own_(own) {
    short_ = register_module("dense", std::make_shared<DenseCore>(options, dense_parts(options)));
    if (own.convolution > 0) {
      convolution_ = register_parameter("convolution", at::empty({options.heads, own.convolution}));
    }
  }

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override {
    const auto mixed = attend(input, context);
    return convolution_.defined() ? mixed + convolved_values(input) : mixed;
  }

 private:
  bool is_exact_for(int64_t length) const {
    return own_.is_exact || (own_.is_exact_when_short && length <= own_.landmarks);
  }

  at::Tensor attend(const CoreInput& input, const ForwardContext& context) {
    if (is_exact_for(input.queries.max_length)) {
      return short_->forward(input, context);
    }
    const auto rows = separated(input, options_);
    std::vector<at::Tensor> parts;
    for (int64_t b = 0; b < input.queries.sequences(); ++b) {
      if (input.queries.length(b) > 0) {
        parts.push_back(is_exact_for(input.queries.length(b))
                            ? attend_exactly(rows, input, b, context)
                            : attend_by_landmarks(rows, input, b, context));
      }
    }
    return parts.empty() ? at::zeros_like(rows.query) : at::cat(parts);
  }

  static at::Tensor rows_of(const at::Tensor& x, const CoreInput& input, int64_t b) {
    return x.narrow(0, input.queries.offsets[static_cast<std::size_t>(b)], input.queries.length(b));
  }

  at::Tensor attend_exactly(const kernels::AttentionInput& rows,
                            const CoreInput& input,
                            int64_t b,
                            const ForwardContext& context) {
    const auto layout =
        kernels::Layout::from_offsets({0, input.queries.length(b)}, rows.query.device());
    auto groups = std::make_shared<kernels::AttentionGroups>();
    groups->sequences = {b};
    groups->numbers = {0};
    groups->mask_begins = {-1};
    return short_->forward({.rows = {.query = rows_of(rows.query, input, b),
                                     .key = rows_of(rows.key, input, b),
                                     .value = rows_of(rows.value, input, b),
                                     .groups = groups},
                            .queries = layout,
                            .keys = layout,
                            .rng_key = input.rng_key},
                           context);
  }

  at::Tensor attend_by_landmarks(const kernels::AttentionInput& rows,
                                 const CoreInput& input,
                                 int64_t b,
                                 const ForwardContext& context) const {
    const auto length = input.queries.length(b);
    const auto heads = [&](const at::Tensor& x) {
      return heads_of_sequence(x, input.queries, b, options_);
    };
    const auto query = heads(rows.query) * score_scale(options_);
    const auto key = heads(rows.key);
    const auto value = heads(rows.value);
    const auto means =
        segment_means(std::min(own_.landmarks, length), length, query.options());  // (m, l)
    const auto query_marks = kernels::batched_product(means, query);
    const auto key_marks = kernels::batched_product(means, key);
    const auto weights = [](const at::Tensor& q, const at::Tensor& k) {
      return kernels::softmax(kernels::batched_product(q, k.transpose(1, 2)));
    };
    const auto inverse = iterative_inverse(weights(query_marks, key_marks), own_);
    const auto read = kernels::batched_product(weights(query_marks, key), value);  // (H, m, K)
    const auto mixed = kernels::batched_product(weights(query, key_marks),
                                                kernels::batched_product(inverse, read));
    const auto out = mixed.transpose(0, 1).flatten(1).to(rows.query.scalar_type());
    auto own_input = input;
    own_input.rng_key.first_row += input.queries.offsets[static_cast<std::size_t>(b)];
    return drop_mixed_values(out, options_, own_input, context);
  }

  /// (N, H K): each feature of a head convolved over time with the head's kernel, zero outside.
  at::Tensor convolved_values(const CoreInput& input) const {
    auto unrotated = input;  // only the values are read
    unrotated.rotary = at::Tensor();
    const auto value = separated(unrotated, options_).value;
    const auto radius = own_.convolution / 2;
    const SpacedRows rows(input.queries, radius, radius, value.device());
    const auto by_head = value.unflatten(1, {key_heads(options_), -1})
                             .repeat_interleave(options_.heads / key_heads(options_), 1)
                             .flatten(1)
                             .to(kernels::accumulate_type(value));
    return depthwise_convolution(rows.spread(by_head),
                                 convolution_.repeat_interleave(head_dim(options_), 0))
        .index_select(0, rows.token_windows())
        .to(value.scalar_type());
  }

  AttentionOptions options_;
  NystromOptions own_;
  std::shared_ptr<DenseCore> short_;
  at::Tensor convolution_;  // (H, taps)
};

}  // namespace

std::shared_ptr<Attention> make_nystrom_attention(const AttentionOptions& options,
                                                  const NystromOptions& own) {
  return attention_with_core(options, std::make_shared<NystromCore>(options, own));
}

AttentionMaker read_nystrom_attention(config::Section& section) {
  NystromOptions own;
  section.read("landmarks", own.landmarks,
               {.help = "Landmarks of a text: means of segments of its queries and keys.",
                .range = config::between(1, 1 << 16)});
  section.read(
      "iterations", own.iterations,
      {.help = "Iterations of the approximate pseudo-inverse.", .range = config::between(1, 100)});
  section.read("convolution", own.convolution,
               {.help = "Kernel size of the convolution of the values that is added; odd. 0: none.",
                .unit = "tokens",
                .range = config::between(0, 1023)});
  section.read("exact_when_short", own.is_exact_when_short,
               {.help = "Full attention for texts with no more tokens than landmarks."});
  if (own.convolution > 0 && own.convolution % 2 == 0) {
    section.fail("convolution", "found an even number, allowed are odd numbers and 0");
  }
  return [own, section](const AttentionOptions& options) {
    refuse_causal(section, options.is_causal, "nystrom",
                  "its landmarks contain later tokens; full, window and performer are causal");
    return make_nystrom_attention(options, own);
  };
}

}  // namespace weft::nn
