#include "nn/attention/score_parts.h"

#include <cmath>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"

namespace weft::nn {

at::Tensor key_distances(const AttentionTile& tile) {
  const auto options = at::TensorOptions(tile.query.device()).dtype(at::kLong);
  const auto query = at::arange(tile.span.queries, options).unsqueeze(1) + tile.span.offset;
  return at::arange(tile.span.keys, options) - query;
}

at::Tensor gather_columns(const at::Tensor& x, const at::Tensor& columns) {
  return x.gather(3, columns.expand({x.size(0), x.size(1), -1, -1}));
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
    kernels::AttentionSettings settings, const ForwardContext& /*context*/) const {
  settings.scale = scale_;
  return settings;
}

at::Tensor add_distance_scores(const at::Tensor& scores, const AttentionTile& tile, double scale) {
  const auto& [keys, queries, rows] = tile.distance_vectors;
  if (tile.distance_vectors.is_empty()) {
    return scores;
  }
  const auto centre = static_cast<int64_t>(rows->size()) / 2;
  const auto row_of_distance =
      kernels::to_device(at::tensor(at::ArrayRef<int32_t>(*rows), at::kLong), scores.device());
  const auto distances = (key_distances(tile) + centre).clamp(0, row_of_distance.size(0) - 1);
  const auto columns = row_of_distance.index_select(0, distances.flatten()).view_as(distances);
  // (G, H, N, R) of rows (G, H, N, K)
  const auto products = [&](const at::Tensor& x, const at::Tensor& vectors) {
    const auto by_head = vectors.to(x.scalar_type()).view({vectors.size(0), x.size(1), x.size(3)});
    return kernels::batched_product(x, by_head.permute({1, 2, 0})).to(scores.scalar_type());
  };
  auto sum = scores;
  if (keys.defined()) {
    sum = sum + gather_columns(products(tile.query, keys), columns) * scale;
  }
  if (queries.defined()) {
    const auto of_keys = gather_columns(products(tile.key, queries), columns.t());
    sum = sum + of_keys.transpose(2, 3) * scale;
  }
  return sum;
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
                                                              const ForwardContext& context) const {
  if (settings.distance_bias.defined()) {  // the kernels add one
    return std::nullopt;
  }
  settings.distance_bias = context.distance_bias;
  return settings;
}

}  // namespace weft::nn
