#include "nn/attention/cross_attention.h"

#include "nn/attention/dense_core.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

CrossAttention::CrossAttention(const AttentionOptions& options) : options_(options) {
  const int64_t width = head_dim(options);
  const int64_t q_size = options.heads * width;
  const int64_t encoder_dim = options.encoder_dim > 0 ? options.encoder_dim : options.dim;
  query_ = register_module("query", Linear(LinearOptions{options.dim, q_size, options.has_bias}));
  key_value_ = register_module(
      "key_value",
      Linear(LinearOptions{encoder_dim, 2 * key_heads(options) * width, options.has_bias}));
  output_ = register_module("output", output_projection(options));
  core_ = register_module(
      "core", std::make_shared<DenseCore>(
                  options, DenseParts{.score = std::make_shared<DotProductScore>(options.scale)}));
}

void CrossAttention::gate_keys(const ComputationGateMaker& make) {
  key_gate_ = register_module("key_gate",
                              make(options_.encoder_dim > 0 ? options_.encoder_dim : options_.dim));
}

at::Tensor CrossAttention::source_rows(const ForwardContext& context) {
  const auto& states = context.encoder_states->states;
  const auto product = [&](const at::Tensor& rows) { return key_value_->forward(rows, context); };
  if (!key_gate_) {
    return product(states);
  }
  auto source_context = context;
  source_context.layout = context.encoder_states->layout;
  source_context.first_row = context.first_source_row;
  return gated_product(key_gate_->forward(states, source_context), states, key_value_->bias(),
                       product);
}

CachedKv CrossAttention::cached_source(const ForwardContext& context) {
  const int64_t kv_size = key_heads(options_) * head_dim(options_);
  auto cache = kv_cache_of(context);
  const auto layer = context.depth(options_.layer);
  if (!cache.has_encoder_kv(layer)) {
    const auto rows = source_rows(context);
    cache.store_encoder_kv(layer, rows.narrow(1, 0, kv_size), rows.narrow(1, kv_size, kv_size));
  }
  return cache.encoder_kv(layer, context.encoder_states->layout);
}

at::Tensor CrossAttention::attend(const at::Tensor& query, const ForwardContext& context) {
  const auto& encoder_states = *context.encoder_states;
  if (context.decoding_state == nullptr) {
    const auto site = site_id(options_.layer, BlockDropoutSite::kCrossAttentionWeights);
    const auto keys_and_values = source_rows(context);
    return core_->forward({.rows = {.query = query, .key = keys_and_values},  // (M, 2 G K)
                           .queries = context.layout,
                           .keys = encoder_states.layout,
                           .rng_key = context.rng_key(site)},
                          context);
  }
  const auto cached = cached_source(context);
  return core_->forward({.rows = {.query = query,
                                  .key = cached.key,
                                  .value = cached.value,
                                  .key_begins = cached.starts},
                         .queries = context.layout,
                         .keys = cached.layout},
                        context);
}

std::vector<at::Tensor> CrossAttention::weights(const at::Tensor& x,
                                                const ForwardContext& context) {
  if (context.decoding_state != nullptr) {
    const auto cached = cached_source(context);
    return core_->weights({.rows = {.query = query_->forward(x, context).to(at::kFloat),
                                    .key = cached.key.to(at::kFloat),
                                    .value = cached.value.to(at::kFloat),
                                    .key_begins = cached.starts},
                           .queries = context.layout,
                           .keys = cached.layout},
                          context);
  }
  return core_->weights({.rows = {.query = query_->forward(x, context).to(at::kFloat),
                                  .key = source_rows(context).to(at::kFloat)},
                         .queries = context.layout,
                         .keys = context.encoder_states->layout},
                        context);
}

at::Tensor CrossAttention::forward(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(context.encoder_states != nullptr,
              "cross attention needs the hidden states of an encoder");
  return output_->forward(attend(query_->forward(x, context), context), context);
}

std::shared_ptr<Sublayer> make_full_cross_attention(const AttentionOptions& options) {
  return std::make_shared<CrossAttention>(options);
}

}  // namespace weft::nn
