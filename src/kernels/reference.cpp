#include "kernels/reference.h"

#include <array>

#include <ATen/ATen.h>

#include "kernels/random_bits.h"
#include "kernels/sum.h"

namespace weft::kernels::reference {
namespace {

constexpr int64_t kWord = 0xFFFFFFFF;

struct Product {
  at::Tensor low;
  at::Tensor high;
};

// The 64-bit product can overflow into the sign bit, so the shifted value must be masked.
Product reference_philox_multiply(const at::Tensor& x, int64_t factor) {
  const auto product = x * factor;
  return {at::bitwise_and(product, kWord),
          at::bitwise_and(at::bitwise_right_shift(product, 32), kWord)};
}

}  // namespace

at::Tensor philox_bits(const DropoutRule& rule,
                       int64_t first_tile,
                       int64_t tiles,
                       const at::Tensor& second,
                       const at::Tensor& third) {
  const auto options = second.options();
  constexpr int64_t kCounters = kDropoutGroup;
  const auto counter = at::arange(first_tile * kCounters, (first_tile + tiles) * kCounters, options)
                           .view({tiles, kCounters});
  std::array<at::Tensor, 4> c{at::bitwise_and(counter, kWord),
                              at::bitwise_right_shift(counter, 32) + second, third,
                              at::zeros({1}, options)};
  int64_t key0 = rule.key[0];
  int64_t key1 = rule.key[1];
  for (int round = 0; round < kDropoutRounds; ++round) {
    const auto a = reference_philox_multiply(c[0], 0xD2511F53);
    const auto b = reference_philox_multiply(c[2], 0xCD9E8D57);
    c = {at::bitwise_xor(at::bitwise_xor(b.high, c[1]), key0), b.low,
         at::bitwise_xor(at::bitwise_xor(a.high, c[3]), key1), a.low};
    key0 = (key0 + 0x9E3779B9) & kWord;
    key1 = (key1 + 0xBB67AE85) & kWord;
  }
  std::vector<at::Tensor> groups;
  for (const auto& word : at::broadcast_tensors(c)) {  // (..., tiles, 16)
    groups.push_back(at::bitwise_and(word, 0xFFFF));
    groups.push_back(at::bitwise_right_shift(word, 16));
  }
  return at::stack(groups, -2).flatten(-3);  // (..., tiles, 8, 16) -> (..., tiles * 128)
}

at::Tensor dropout_mask(const DropoutRule& rule, const at::Tensor& bits) {
  return at::ge(bits, static_cast<int64_t>(rule.threshold)).to(at::kFloat).mul_(rule.scale);
}

at::Tensor dropout_mask(
    int64_t rows, int64_t columns, double p, const RngKey& rng_key, const at::Device& device) {
  const auto rule = dropout_rule(p, rng_key);
  const auto stride = dropout_row_stride(columns);
  const auto first = rng_key.first_row * stride;
  const auto first_tile = first / kDropoutTile;
  const auto tiles = (first + rows * stride + kDropoutTile - 1) / kDropoutTile - first_tile;
  const auto none = at::zeros({1, 1}, at::TensorOptions().dtype(at::kLong).device(device));
  const auto mask = dropout_mask(rule, philox_bits(rule, first_tile, tiles, none, none));
  return mask.narrow(-1, first - first_tile * kDropoutTile, rows * stride)
      .view({rows, stride})
      .narrow(1, 0, columns);  // (N, D)
}

at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key) {
  if (p == 0.0) {
    return x;
  }
  const auto mask = dropout_mask(x.size(0), x.size(1), p, rng_key, x.device());
  return (x.to(accumulate_type(x)) * mask).to(x.scalar_type());
}

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon) {
  const auto type = accumulate_type(x);
  const auto shift = bias.defined() ? bias.to(type) : at::Tensor();
  return at::layer_norm(x.to(type), {x.size(-1)}, weight.to(type), shift, epsilon)
      .to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const auto values = x.to(accumulate_type(x));
  const auto scale = at::rsqrt(values.square().mean(-1, /*keepdim=*/true) + epsilon);
  return (values * scale * weight.to(accumulate_type(x))).to(x.scalar_type());
}

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const RngKey& rng_key) {
  auto added = branch.to(accumulate_type(branch));
  if (p > 0.0) {
    added = added * dropout_mask(branch.size(0), branch.size(1), p, rng_key, branch.device());
  }
  return (residual.to(accumulate_type(residual)) + added).to(residual.scalar_type());
}

at::Tensor add_dropout_norm(const at::Tensor& residual,
                            const at::Tensor& branch,
                            const NormWeights& norm,
                            double p,
                            const RngKey& rng_key) {
  const auto sum = reference::add_dropout(residual, branch, p, rng_key);
  return norm.is_rms ? reference::rms_norm(sum, norm.weight, norm.epsilon)
                     : reference::layer_norm(sum, norm.weight, norm.bias, norm.epsilon);
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kTanh:
      return at::tanh(x);
  }
  TORCH_CHECK(false, "unknown activation ", static_cast<int>(activation));
}

at::Tensor activate_gated(const at::Tensor& x, Activation activation) {
  const auto halves = x.to(accumulate_type(x)).chunk(2, -1);
  return (reference::activate(halves[0], activation) * halves[1]).to(x.scalar_type());
}

at::Tensor rotate(const at::Tensor& x, const at::Tensor& table) {
  const auto width = table.size(-1);
  if (width < x.size(-1)) {
    const auto rest = x.narrow(-1, width, x.size(-1) - width);
    return at::cat({reference::rotate(x.narrow(-1, 0, width), table), rest}, -1);
  }
  const auto planes = x.to(accumulate_type(x)).chunk(2, -1);
  const auto angles = table.to(accumulate_type(x)).unsqueeze(-2).chunk(2, -1);  // (L, 1, K / 2)
  const auto first = planes[0] * angles[0] - planes[1] * angles[1];
  const auto second = planes[1] * angles[0] + planes[0] * angles[1];
  return at::cat({first, second}, -1).to(x.scalar_type());
}

// On a GPU, at::embedding accumulates the gradients of a row in fp32, unlike index_select.
at::Tensor embedding_sum(const at::Tensor& word,
                         const at::Tensor& ids,
                         const at::Tensor& position,
                         const at::Tensor& positions,
                         const at::Tensor& type,
                         const at::Tensor& types) {
  auto sum = at::embedding(word, ids).to(accumulate_type(word));  // (N, D)
  if (position.defined()) {
    sum = sum + at::embedding(position, positions);
  }
  if (type.defined()) {
    sum = sum + at::embedding(type, types);
  }
  return sum.to(word.scalar_type());
}

at::Tensor embedding_mean(const at::Tensor& table, const at::Tensor& ids, const Layout& layout) {
  const auto lengths = layout.device_lengths();
  const auto sums =
      at::segment_reduce(at::embedding(table, ids).to(accumulate_type(table)), "sum", lengths,
                         std::nullopt, std::nullopt, /*axis=*/0, /*unsafe=*/false, /*initial=*/0);
  return (sums / lengths.clamp_min(1).unsqueeze(1)).to(table.scalar_type());
}

at::Tensor linear_cross_entropy(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets) {
  return cross_entropy_sum(at::linear(x, weight, bias), targets);
}

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.to(accumulate_type(logits)), targets, {}, at::Reduction::Sum,
                                /*ignore_index=*/-100);
}

}  // namespace weft::kernels::reference
