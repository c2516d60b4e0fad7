#include "kernels/attention/attention_weights.h"

#include <cmath>

#include <ATen/ATen.h>

#include "kernels/flop_counter.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

/// (L, L), true where masked. `prefix`: keys that all queries attend to even if causal.
at::Tensor hidden_keys(int64_t length,
                       int64_t prefix,
                       const AttentionSettings& settings,
                       const at::Device& device) {
  const auto position = at::arange(length, at::TensorOptions().dtype(at::kLong).device(device));
  const auto distance = position - position.unsqueeze(1);  // from query to key
  auto hidden = at::zeros({length, length}, at::TensorOptions().dtype(at::kBool).device(device));
  if (settings.is_causal) {
    hidden = at::logical_and(at::gt(distance, 0), at::ge(position, prefix));
  }
  if (settings.window_radius >= 0) {
    hidden = at::logical_or(hidden, at::gt(distance.abs(), settings.window_radius));
  }
  return hidden;
}

/// (H, L, L): the bias of each query-key pair.
at::Tensor weights_bias_of(const at::Tensor& bias, int64_t length) {
  const auto position = at::arange(length, at::TensorOptions(bias.device()).dtype(at::kLong));
  const auto span = (bias.size(1) + 1) / 2;
  const auto columns = (position - position.unsqueeze(1) + span - 1).clamp(0, bias.size(1) - 1);
  return bias.index_select(1, columns.flatten()).view({bias.size(0), length, length});
}

at::Tensor weights_of(const at::Tensor& qkv, int64_t prefix, const AttentionSettings& settings) {
  const auto length = qkv.size(0);
  const auto key_heads = settings.key_heads > 0 ? settings.key_heads : settings.heads;
  const auto heads = settings.heads + 2 * key_heads;
  const auto all = qkv.to(at::kFloat).view({length, heads, -1});
  const auto turned = [&](const at::Tensor& x) {  // (L, H, K)
    return settings.rotary.defined() ? reference::rotate(x, settings.rotary.slice(0, 0, length))
                                     : x;
  };
  const auto q = turned(all.narrow(1, 0, settings.heads)).transpose(0, 1);  // (H, L, K)
  const auto k = at::repeat_interleave(turned(all.narrow(1, settings.heads, key_heads)),
                                       settings.heads / key_heads, 1)
                     .transpose(0, 1);
  const double scale =
      settings.scale != 0.0 ? settings.scale : 1.0 / std::sqrt(static_cast<double>(q.size(-1)));
  auto scores = at::matmul(q, k.transpose(-2, -1)) * scale;
  const int64_t flops = 2 * scores.numel() * q.size(-1);
  count_with_backward(scores, flops, 2 * flops);
  if (settings.distance_bias.defined()) {
    scores = scores + weights_bias_of(settings.distance_bias, length);
  }
  const auto hidden = hidden_keys(length, prefix, settings, qkv.device());
  return at::softmax(scores.masked_fill(hidden, -INFINITY), -1);
}

}  // namespace

std::vector<at::Tensor> attention_weights(const at::Tensor& qkv,
                                          const Layout& layout,
                                          const AttentionSettings& settings) {
  TORCH_CHECK(qkv.dim() == 2 && qkv.size(0) == layout.tokens(), "attention_weights expects qkv (",
              layout.tokens(), ", (H + 2 G) K), got ", qkv.sizes());
  std::vector<at::Tensor> weights;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    const auto prefix = settings.prefix_lengths.empty() ? 0 : settings.prefix_lengths.at(i);
    weights.push_back(
        weights_of(qkv.slice(0, layout.offsets[i], layout.offsets[i + 1]), prefix, settings));
  }
  return weights;
}

}  // namespace weft::kernels
