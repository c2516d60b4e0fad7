#include "nn/attention/scores/score_parts.h"

#include <cmath>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"

namespace weft::nn {

at::Tensor key_distances(const AttentionTile& tile) {
  const auto options = at::TensorOptions(tile.query.device()).dtype(at::kLong);
  const auto query = at::arange(tile.span.queries, options).unsqueeze(1) + tile.span.offset;
  return at::arange(tile.span.keys, options) - query;
}

const at::Tensor& shared_positions(const AttentionTile& tile, const std::string& name) {
  const auto& all = tile.context.position_tensors;
  const auto found = all.find(name);
  TORCH_CHECK(found != all.end(), "the positions '", name, "' are those of a stack");
  return found->second;
}

at::Tensor project_features(const at::Tensor& x, const at::Tensor& weight) {
  auto sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return kernels::linear(x.reshape({-1, x.size(-1)}), weight.to(x.scalar_type()), {}).view(sizes);
}

at::Tensor repeat_for_rows(const at::Tensor& vectors, const at::Tensor& x) {
  const auto sizes = {x.size(0), x.size(2), x.size(1), x.size(3)};
  return kernels::repeat_row(vectors.to(x.scalar_type()).flatten(), x.size(0) * x.size(2))
      .view(sizes)
      .transpose(1, 2);
}

at::Tensor DotProductScore::scores(const AttentionTile& tile) {
  const auto width = tile.query.size(-1);
  const auto products = kernels::batched_product(tile.query, tile.key.transpose(-2, -1));
  const double scale = scale_ != 0.0 ? scale_ : 1.0 / std::sqrt(static_cast<double>(width));
  return products.to(kernels::accumulate_type(products)) * scale;
}

std::optional<kernels::AttentionSettings> DotProductScore::fused(
    kernels::AttentionSettings settings,
    const ForwardContext& /*context*/,
    int64_t /*longest*/) const {
  settings.scale = scale_;
  return settings;
}

at::Tensor DistanceBias::scores(const at::Tensor& scores, const AttentionTile& tile) {
  const auto& bias = tile.context.distance_bias;  // (H, 2 S - 1)
  if (!bias.defined()) {
    return scores;
  }
  const auto columns = (key_distances(tile) + bias.size(1) / 2).clamp(0, bias.size(1) - 1);
  return scores + bias.index_select(1, columns.flatten())
                      .view({bias.size(0), tile.span.queries, tile.span.keys})
                      .to(scores.scalar_type());
}

std::optional<kernels::AttentionSettings> DistanceBias::fused(kernels::AttentionSettings settings,
                                                              const ForwardContext& context,
                                                              int64_t /*longest*/) const {
  if (settings.distance_bias.defined()) {  // the kernels add one
    return std::nullopt;
  }
  settings.distance_bias = context.distance_bias;
  return settings;
}

}  // namespace weft::nn
