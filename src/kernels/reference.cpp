#include "kernels/reference.h"

#include <ATen/ATen.h>

#include "kernels/chance_bits.h"
#include "kernels/reference_philox.h"
#include "kernels/wide.h"

namespace weft::kernels::reference {

at::Tensor keep_mask(
    int64_t rows, int64_t columns, double p, const Chance& chance, const at::Device& device) {
  const auto rule = drop_rule(p, chance);
  const auto stride = drop_stride(columns);
  const auto first = chance.first_row * stride;
  const auto first_tile = first / kDropTile;
  const auto tiles = (first + rows * stride + kDropTile - 1) / kDropTile - first_tile;
  const auto none = at::zeros({1, 1}, at::TensorOptions().dtype(at::kLong).device(device));
  const auto mask = kept(rule, draws(rule, first_tile, tiles, none, none));
  return mask.narrow(-1, first - first_tile * kDropTile, rows * stride)
      .view({rows, stride})
      .narrow(1, 0, columns);  // (N, D)
}

at::Tensor dropout(const at::Tensor& x, double p, const Chance& chance) {
  if (p == 0.0) {
    return x;
  }
  const auto mask = keep_mask(x.size(0), x.size(1), p, chance, x.device());
  return (x.to(wide(x)) * mask).to(x.scalar_type());
}

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon) {
  const auto type = wide(x);
  const auto shift = bias.defined() ? bias.to(type) : at::Tensor();
  return at::layer_norm(x.to(type), {x.size(-1)}, weight.to(type), shift, epsilon)
      .to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const auto values = x.to(wide(x));
  const auto scale = at::rsqrt(values.square().mean(-1, /*keepdim=*/true) + epsilon);
  return (values * scale * weight.to(wide(x))).to(x.scalar_type());
}

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const Chance& chance) {
  auto added = branch.to(wide(branch));
  if (p > 0.0) {
    added = added * keep_mask(branch.size(0), branch.size(1), p, chance, branch.device());
  }
  return (residual.to(wide(residual)) + added).to(residual.scalar_type());
}

at::Tensor add_dropout_norm(const at::Tensor& residual,
                            const at::Tensor& branch,
                            const NormWeights& norm,
                            double p,
                            const Chance& chance) {
  const auto sum = reference::add_dropout(residual, branch, p, chance);
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
  const auto halves = x.to(wide(x)).chunk(2, -1);
  return (reference::activate(halves[0], activation) * halves[1]).to(x.scalar_type());
}

at::Tensor rotate(const at::Tensor& x, const at::Tensor& table) {
  const auto width = table.size(-1);
  if (width < x.size(-1)) {
    const auto rest = x.narrow(-1, width, x.size(-1) - width);
    return at::cat({reference::rotate(x.narrow(-1, 0, width), table), rest}, -1);
  }
  const auto planes = x.to(wide(x)).chunk(2, -1);
  const auto angles = table.to(wide(x)).unsqueeze(-2).chunk(2, -1);  // (L, 1, K / 2)
  const auto first = planes[0] * angles[0] - planes[1] * angles[1];
  const auto second = planes[1] * angles[0] + planes[0] * angles[1];
  return at::cat({first, second}, -1).to(x.scalar_type());
}

// A GPU's at::embedding, unlike its index_select, adds up the gradients of a row in fp32.
at::Tensor embedding_sum(const at::Tensor& word,
                         const at::Tensor& ids,
                         const at::Tensor& position,
                         const at::Tensor& positions,
                         const at::Tensor& type,
                         const at::Tensor& types) {
  auto sum = at::embedding(word, ids).to(wide(word));  // (N, D)
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
  return at::cross_entropy_loss(logits.to(wide(logits)), targets, {}, at::Reduction::Sum,
                                /*ignore_index=*/-100);
}

}  // namespace weft::kernels::reference
