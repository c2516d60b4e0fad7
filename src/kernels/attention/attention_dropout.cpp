#include "kernels/attention/attention_dropout.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/dropout.h"
#include "kernels/fused.h"
#include "kernels/random_bits.h"
#include "kernels/reference.h"
#include "kernels/to_device.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Second and third words of the counters of each head of each sequence.
struct CounterWords {
  std::vector<int64_t> second;
  std::vector<int64_t> third;
};

CounterWords counter_words(const WeightShape& shape, const RngKey& rng_key) {
  CounterWords words;
  const auto heads = shape.sequences.size() * static_cast<std::size_t>(shape.heads);
  words.second.reserve(heads);
  words.third.reserve(heads);
  for (std::size_t i = 0; i < shape.sequences.size(); ++i) {
    const int64_t number = shape.numbers.empty() ? 0 : shape.numbers[i];
    for (int64_t head = 0; head < shape.heads; ++head) {
      words.second.push_back(rng_key.first_sequence + shape.sequences[i]);
      words.third.push_back(head + shape.heads * number);
    }
  }
  return words;
}

at::Tensor drop(const at::Tensor& weights, const DropoutRule& rule, const CounterWords& words) {
  auto out = at::empty_like(weights);
  const int64_t queries = weights.size(2);
  const int64_t keys = weights.size(3);
  const auto rows = static_cast<int64_t>(words.second.size()) * queries;
  dispatch_element_type(weights, [&](auto element) {
    using T = decltype(element);
    parallel_for(0, rows, row_grain(keys), [&](int64_t begin, int64_t end) {
      auto rng = to_dropout_rng(rule);
      while (begin < end) {
        const int64_t head = begin / queries;
        const int64_t first = head * queries;
        const int64_t last = std::min(end, first + queries);
        rng.second = static_cast<uint32_t>(words.second[static_cast<std::size_t>(head)]);
        rng.third = static_cast<uint32_t>(words.third[static_cast<std::size_t>(head)]);
        operations<T>().dropout(
            {.begin = begin - first, .end = last - first, .columns = keys, .first_row = 0}, rng,
            nullptr, elements<const T>(weights) + first * keys, elements<T>(out) + first * keys);
        begin = last;
      }
    });
  });
  return out;
}

class AttentionDropout : public torch::autograd::Function<AttentionDropout> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& weights,
                            const DropoutRule& rule,
                            const CounterWords& words) {
    save_rule(*context, rule, 0);
    context->saved_data["second"] = words.second;
    context->saved_data["third"] = words.third;
    return drop(weights.contiguous(), rule, words);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {drop(gradients[0].contiguous(), saved_rule(*context).first,
                 {.second = context->saved_data["second"].toIntVector(),
                  .third = context->saved_data["third"].toIntVector()}),
            {},
            {}};
  }
};

}  // namespace

at::Tensor attention_dropout(const at::Tensor& weights,
                             const WeightShape& shape,
                             double p,
                             const RngKey& rng_key) {
  if (!has_vector_kernel(weights)) {
    return weights * attention_dropout_mask(shape, p, rng_key, weights.device());
  }
  const auto sequences = static_cast<int64_t>(shape.sequences.size());
  const auto all = weights.expand({sequences, shape.heads, shape.queries, shape.keys});
  return AttentionDropout::apply(all, attention_dropout_rule(p, rng_key),
                                 counter_words(shape, rng_key));
}

at::Tensor attention_dropout_mask(const WeightShape& shape,
                                  double p,
                                  const RngKey& rng_key,
                                  const at::Device& device) {
  const auto rule = attention_dropout_rule(p, rng_key);
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const auto sequence =
      (to_device(shape.sequences, device) + rng_key.first_sequence).view({-1, 1, 1, 1});
  auto head = at::arange(shape.heads, options).view({1, -1, 1, 1});
  if (!shape.numbers.empty()) {
    head = head + shape.heads * to_device(shape.numbers, device).view({-1, 1, 1, 1});
  }
  const auto stride = dropout_row_stride(shape.keys);
  const auto size = shape.queries * stride;
  const auto bits =
      reference::philox_bits(rule, 0, (size + kDropoutTile - 1) / kDropoutTile, sequence, head);
  return reference::dropout_mask(rule, bits.narrow(-1, 0, size))
      .view({-1, shape.heads, shape.queries, stride})
      .narrow(-1, 0, shape.keys);
}

}  // namespace weft::kernels
