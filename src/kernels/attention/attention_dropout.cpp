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

/// Attention weights of sequences, numbered in the step; `numbers` as in WeightShape.
at::Tensor drop(const at::Tensor& weights,
                const DropoutRule& rule,
                const std::vector<int64_t>& sequences,
                const std::vector<int64_t>& numbers) {
  auto out = at::empty_like(weights);
  const int64_t heads = weights.size(1);
  const int64_t queries = weights.size(2);
  const int64_t keys = weights.size(3);
  dispatch_element_type(weights, [&](auto element) {
    using T = decltype(element);
    const int64_t rows = weights.size(0) * heads * queries;
    parallel_for(0, rows, row_grain(keys), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t matrix = begin / queries;
        const int64_t first = matrix * queries;
        const int64_t last = std::min(end, first + queries);
        const auto i = static_cast<std::size_t>(matrix / heads);
        const int64_t number = numbers.empty() ? 0 : numbers[i];
        operations<T>().dropout(
            {.begin = begin - first, .end = last - first, .columns = keys, .first_row = 0},
            to_dropout_rng(rule, sequences[i], matrix % heads + heads * number), nullptr,
            elements<const T>(weights) + first * keys, elements<T>(out) + first * keys);
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
                            const std::vector<int64_t>& sequences,
                            const std::vector<int64_t>& numbers) {
    save_rule(*context, rule, 0);
    context->saved_data["sequences"] = sequences;
    context->saved_data["numbers"] = numbers;
    return drop(weights.contiguous(), rule, sequences, numbers);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {drop(gradients[0].contiguous(), saved_rule(*context).first,
                 context->saved_data["sequences"].toIntVector(),
                 context->saved_data["numbers"].toIntVector()),
            {},
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
  auto sequences = shape.sequences;
  for (auto& sequence : sequences) {
    sequence += rng_key.first_sequence;
  }
  const auto all = weights.expand(
      {static_cast<int64_t>(sequences.size()), shape.heads, shape.queries, shape.keys});
  return AttentionDropout::apply(all, attention_dropout_rule(p, rng_key), sequences, shape.numbers);
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
