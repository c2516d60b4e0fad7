#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"

/// What the vector kernels need of AttentionSettings::query_bias and distance_vectors.
namespace weft::kernels {

/// Products with DistanceVectors, (H, N, R); nullopt: there are no such vectors.
struct DistanceProducts {
  std::optional<at::Tensor> of_queries;
  std::optional<at::Tensor> of_keys;
};

/// query (N, H K), with the query bias of the settings; key (M, H K). Differentiable.
DistanceProducts distance_products(const at::Tensor& query,
                                   const at::Tensor& key,
                                   const AttentionSettings& settings);

/// Throws c10::Error unless the distance vectors fit sequences of `longest` tokens, heads of
/// `width` features and the rest of the settings.
void check_distance_vectors(const AttentionSettings& settings, int64_t longest, int64_t width);

/// query (N, H K), or rows that begin with queries -> the same with the bias, if there is one.
at::Tensor with_query_bias(const at::Tensor& query, const AttentionSettings& settings);

}  // namespace weft::kernels
