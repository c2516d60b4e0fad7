#include "kernels/reference.h"

#include <ATen/ATen.h>

#include "kernels/accumulate_type.h"
#include "kernels/random_bits.h"
#include "kernels/reference_philox.h"

namespace weft::kernels::reference {

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
