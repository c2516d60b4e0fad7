#include "nn/attention/scores/distance_projection.h"

#include <ATen/ATen.h>

#include "kernels/dropout.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

DistanceProjectionImpl::DistanceProjectionImpl(const AttentionOptions& options)
    : options_(options) {
  const auto& scores = *options.distance_scores;
  if (scores.shares_projections) {
    return;
  }
  const LinearOptions projection{options.dim, options.heads * head_dim(options)};
  if (scores.content_to_position) {
    auto own = projection;
    own.has_bias = scores.has_key_bias;
    key_ = register_module("key", Linear(own));
  }
  if (scores.position_to_content) {
    query_ = register_module("query", Linear(projection));
  }
}

at::Tensor DistanceProjectionImpl::shared(Linear& qkv,
                                          const at::Tensor& vectors,
                                          int64_t first,
                                          int64_t count) const {
  const auto width = head_dim(options_);
  const auto projected = qkv->has_fused_path()
                             ? qkv->forward_slice(vectors, first * width, count * width)
                             : qkv->forward(vectors).narrow(1, first * width, count * width);
  const auto copies = options_.heads / count;
  return copies == 1
             ? projected
             : at::repeat_interleave(projected.view({-1, count, width}), copies, 1).flatten(1);
}

kernels::DistanceVectors DistanceProjectionImpl::forward(Linear& qkv,
                                                         const ForwardContext& context) {
  const auto& [table, rows] = context.distance_table;
  TORCH_CHECK(table.defined(), "the stack has no distance table");
  const auto& scores = *options_.distance_scores;
  auto key = context.rng_key(site_id(options_.layer + kDistanceSites, 0));
  key.first_row = 0;  // of the table: micro-batches share it
  const auto vectors = kernels::dropout(table, context.rate(scores.dropout), key);
  kernels::DistanceVectors result{.rows = rows};
  if (scores.content_to_position) {
    result.keys = scores.shares_projections
                      ? shared(qkv, vectors, options_.heads, key_heads(options_))
                      : key_->forward(vectors, context);
  }
  if (scores.position_to_content) {
    result.queries = scores.shares_projections ? shared(qkv, vectors, 0, options_.heads)
                                               : query_->forward(vectors, context);
  }
  return result;
}

}  // namespace weft::nn
