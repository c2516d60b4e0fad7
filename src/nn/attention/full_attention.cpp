#include "nn/attention/full_attention.h"

#include "kernels/attention/attention_weights.h"
#include "nn/attention/kv_cache.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

namespace {

kernels::RotaryOptions rotary_of(const AttentionOptions& options) {
  auto rotary = options.rotary;
  rotary.theta = options.theta;
  rotary.width = rotary.width > 0 ? rotary.width : head_dim(options);
  return rotary;
}

}  // namespace

FullAttention::FullAttention(const AttentionOptions& options)
    : options_(options), angles_(rotary_of(options)) {
  const int64_t width = head_dim(options);
  const int64_t rows = (options.heads + 2 * key_heads(options)) * width;
  qkv_ = register_module(
      "qkv", std::make_shared<Linear>(LinearOptions{options.dim, rows, options.has_bias}));
  output_ = register_module("output", std::make_shared<Linear>(LinearOptions{
                                          options.heads * width, options.dim,
                                          options.has_output_bias.value_or(options.has_bias)}));
}

kernels::AttentionSettings FullAttention::settings(const at::Tensor& x,
                                                   const ForwardContext& context) {
  return {.heads = options_.heads,
          .key_heads = key_heads(options_),
          .scale = options_.scale,
          .is_causal = options_.is_causal,
          .prefix_lengths = options_.is_causal ? context.prefix_lengths : std::vector<int64_t>{},
          .window_radius = window_radius(),
          .dropout = context.rate(options_.dropout),
          .rotary = angles_.table(context.layout.position_limit, x.device()),
          .distance_bias = options_.has_distance_bias ? context.distance_bias : at::Tensor()};
}

at::Tensor FullAttention::attend_with_cache(const at::Tensor& qkv, const ForwardContext& context) {
  TORCH_CHECK(!context.is_training, "attention with a KV cache is for inference only");
  TORCH_CHECK(options_.is_causal, "bidirectional attention cannot use a KV cache");
  const int64_t width = head_dim(options_);
  const int64_t q_size = options_.heads * width;
  const int64_t kv_size = key_heads(options_) * width;
  auto settings = this->settings(qkv, context);
  auto rotated_qk = qkv.narrow(1, 0, q_size + kv_size);  // queries and keys
  if (settings.rotary.defined()) {                       // keys are cached already rotated
    const auto heads = rotated_qk.unflatten(1, {-1, width});
    rotated_qk = kernels::apply_rotary(heads, settings.rotary, context.layout.positions).flatten(1);
    settings.rotary.reset();
  }
  const auto rows = context.cache->extend(options_.layer, rotated_qk.narrow(1, q_size, kv_size),
                                          qkv.narrow(1, q_size + kv_size, kv_size));
  return kernels::attention({.query = rotated_qk.narrow(1, 0, q_size),
                             .key = rows.key,
                             .value = rows.value,
                             .key_begins = rows.starts},
                            context.layout, rows.layout, settings, {});
}

at::Tensor FullAttention::attend(const at::Tensor& x, const ForwardContext& context) {
  const auto qkv = qkv_->forward(x, context);
  if (context.cache != nullptr) {
    return attend_with_cache(qkv, context);
  }
  const auto rng_key =
      context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights));
  return kernels::attention(qkv, context.layout, settings(x, context), rng_key);
}

at::Tensor FullAttention::forward(const at::Tensor& x, const ForwardContext& context) {
  return output_->forward(attend(x, context), context);  // (N, D)
}

bool FullAttention::is_position_independent() const {
  return !options_.is_causal && window_radius() < 0 && options_.theta == 0 &&
         !options_.has_distance_bias;
}

at::Tensor FullAttention::attend_selected(const at::Tensor& x,
                                          const ForwardContext& context,
                                          const RowSelection& selection) {
  if (!is_position_independent() || !qkv_->has_fused_path()) {
    return selection.select(attend(x, context));
  }
  const int64_t width = head_dim(options_);
  const int64_t q_size = options_.heads * width;
  const auto query = qkv_->forward_slice(selection.select(x), 0, q_size);             // (M, H K)
  const auto rest = qkv_->forward_slice(x, q_size, 2 * key_heads(options_) * width);  // (N, 2 G K)
  const auto rng_key =
      context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights));
  return kernels::attention({.query = query, .key = rest}, selection.layout, context.layout,
                            settings(x, context), rng_key);
}

at::Tensor FullAttention::forward_selected(const at::Tensor& x,
                                           const ForwardContext& context,
                                           const RowSelection& selection) {
  return output_->forward(attend_selected(x, context, selection),
                          selection.select(context));  // (M, D)
}

std::vector<at::Tensor> FullAttention::weights(const at::Tensor& x, const ForwardContext& context) {
  return kernels::attention_weights(qkv_->forward(x, context), context.layout,
                                    settings(x, context));
}

}  // namespace weft::nn
