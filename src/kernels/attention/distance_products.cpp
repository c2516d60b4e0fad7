#include "kernels/attention/distance_products.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"

namespace weft::kernels {
namespace {

/// Of the H heads of queries or keys (N, H K) with vectors (R, H K): (H, N, R).
std::optional<at::Tensor> products_with_vectors(const at::Tensor& rows,
                                                const at::Tensor& vectors,
                                                int64_t heads) {
  if (!vectors.defined()) {
    return std::nullopt;
  }
  const auto by_head = [&](const at::Tensor& x) {
    return x.view({x.size(0), heads, x.size(1) / heads}).transpose(0, 1);
  };
  return batched_product(by_head(rows), by_head(vectors.to(rows.scalar_type())).transpose(1, 2))
      .contiguous();
}

/// x (N, D) plus a row (D) whose gradient does not depend on the number of threads; undefined: x.
at::Tensor with_bias(const at::Tensor& x, const at::Tensor& row) {
  return row.defined() ? x + repeat_row(row.to(x.scalar_type()), x.size(0)) : x;
}

}  // namespace

DistanceProducts distance_products(const at::Tensor& query,
                                   const at::Tensor& key,
                                   const AttentionSettings& settings) {
  const auto& vectors = settings.distance_vectors;
  return {.of_queries = products_with_vectors(with_bias(query, vectors.query_bias), vectors.keys,
                                              settings.heads),
          .of_keys = products_with_vectors(key, vectors.queries, settings.heads)};
}

void check_distance_vectors(const AttentionSettings& settings, int64_t longest, int64_t width) {
  const auto& [keys, queries, bias, rows] = settings.distance_vectors;
  const auto fits = [&](const at::Tensor& x) {
    return !x.defined() || (x.dim() == 2 && x.size(1) == settings.heads * width);
  };
  TORCH_CHECK(fits(keys) && fits(queries) && rows != nullptr &&
                  (!bias.defined() || bias.numel() == settings.heads * width) &&
                  static_cast<int64_t>(rows->size()) >= 2 * longest - 1 &&
                  settings.key_heads_or_heads() == settings.heads && !settings.rotary.defined() &&
                  !settings.distance_bias.defined(),
              "attention expects distance vectors (R, ", settings.heads * width,
              "), rows for the distances of ", longest,
              " tokens, and neither shared keys nor a rotary table or a bias");
}

at::Tensor with_query_bias(const at::Tensor& query, const AttentionSettings& settings) {
  const auto& bias = settings.query_bias;
  return bias.defined()
             ? with_bias(query, at::constant_pad_nd(bias, {0, query.size(1) - bias.size(0)}))
             : query;
}

}  // namespace weft::kernels
