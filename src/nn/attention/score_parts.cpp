#include "nn/attention/score_parts.h"

#include <cmath>

#include <ATen/ATen.h>

#include "kernels/flop_counter.h"
#include "kernels/sum.h"

namespace weft::nn {

at::Tensor DotProductScore::scores(const AttentionTile& tile) {
  const auto width = tile.query.size(-1);
  const auto products = at::matmul(tile.query, tile.key.transpose(-2, -1));
  const int64_t flops = 2 * products.numel() * width;
  kernels::count_with_backward(products, flops, 2 * flops);
  const double scale = scale_ != 0.0 ? scale_ : 1.0 / std::sqrt(static_cast<double>(width));
  return products.to(kernels::accumulate_type(products)) * scale;
}

std::optional<kernels::AttentionSettings> DotProductScore::fused(
    kernels::AttentionSettings settings, const ForwardContext& /*context*/) const {
  settings.scale = scale_;
  return settings;
}

at::Tensor DistanceBias::scores(const at::Tensor& scores, const AttentionTile& tile) {
  const auto& bias = tile.context.distance_bias;  // (H, 2 S - 1)
  if (!bias.defined()) {
    return scores;
  }
  const auto options = at::TensorOptions(bias.device()).dtype(at::kLong);
  const auto query = at::arange(tile.span.queries, options).unsqueeze(1) + tile.span.offset;
  const auto distance = at::arange(tile.span.keys, options) - query;  // from query to key
  const auto columns = (distance + bias.size(1) / 2).clamp(0, bias.size(1) - 1);
  return scores + bias.index_select(1, columns.flatten())
                      .view({bias.size(0), tile.span.queries, tile.span.keys})
                      .to(scores.scalar_type());
}

std::optional<kernels::AttentionSettings> DistanceBias::fused(kernels::AttentionSettings settings,
                                                              const ForwardContext& context) const {
  if (settings.distance_bias.defined()) {  // the kernels add one
    return std::nullopt;
  }
  settings.distance_bias = context.distance_bias;
  return settings;
}

}  // namespace weft::nn
