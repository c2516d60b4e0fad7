#include "nn/attention/full_attention.h"

#include "kernels/attention/attention_weights.h"
#include "nn/attention/decoding_cache.h"
#include "nn/sites.h"

namespace weft::nn {

namespace {

kernels::RotaryOptions rotary_of(const AttentionOptions& options) {
  auto rotary = options.stretched;
  rotary.theta = options.theta;
  rotary.width = rotary.width > 0 ? rotary.width : head_width(options);
  return rotary;
}

}  // namespace

FullAttention::FullAttention(const AttentionOptions& options)
    : options_(options), angles_(rotary_of(options)) {
  const int64_t width = head_width(options);
  const int64_t rows = (options.heads + 2 * key_heads(options)) * width;
  qkv_ = make_part<Linear>("qkv", LinearOptions{options.dim, rows, options.has_bias});
  output_ = make_part<Linear>("output",
                              LinearOptions{options.heads * width, options.dim,
                                            options.has_output_bias.value_or(options.has_bias)});
}

kernels::AttentionSettings FullAttention::settings(const at::Tensor& x, const Pass& pass) {
  return {.heads = options_.heads,
          .key_heads = key_heads(options_),
          .scale = options_.scale,
          .is_causal = options_.is_causal,
          .prefixes = options_.is_causal ? pass.prefixes : std::vector<int64_t>{},
          .reach = reach(),
          .dropout = pass.rate(options_.dropout),
          .rotary = angles_.table(pass.layout.furthest, x.device()),
          .distance_bias = options_.has_distances ? pass.distance_bias : at::Tensor()};
}

at::Tensor FullAttention::continued(const at::Tensor& qkv, const Pass& pass) {
  TORCH_CHECK(options_.is_causal, "what sees the tokens after it cannot go on from a cache");
  const int64_t width = head_width(options_);
  const int64_t own = options_.heads * width;
  const int64_t shared = key_heads(options_) * width;
  auto settings = this->settings(qkv, pass);
  auto turned = qkv.narrow(1, 0, own + shared);  // queries and keys
  if (settings.rotary.defined()) {               // keys are kept as they are needed ever after
    const auto heads = turned.unflatten(1, {-1, width});
    turned = kernels::rotated(heads, settings.rotary, pass.layout.positions).flatten(1);
    settings.rotary.reset();
  }
  const auto rows = pass.cache->extend(options_.layer, turned.narrow(1, own, shared),
                                       qkv.narrow(1, own + shared, shared));
  return kernels::attention({.query = turned.narrow(1, 0, own),
                             .key = rows.key,
                             .value = rows.value,
                             .key_begins = rows.begins},
                            pass.layout, rows.layout, settings, {});
}

at::Tensor FullAttention::mixed(const at::Tensor& x, const Pass& pass) {
  const auto qkv = qkv_->adapted(x, pass);
  if (pass.cache != nullptr) {
    return continued(qkv, pass);
  }
  const auto chance = pass.chance(site(options_.layer, BlockSite::kAttentionWeights));
  return kernels::attention(qkv, pass.layout, settings(x, pass), chance);
}

at::Tensor FullAttention::forward(const at::Tensor& x, const Pass& pass) {
  return output_->adapted(mixed(x, pass), pass);  // (N, D)
}

bool FullAttention::is_blind_to_places() const {
  return !options_.is_causal && reach() < 0 && options_.theta == 0 && !options_.has_distances;
}

at::Tensor FullAttention::mixed_rows(const at::Tensor& x,
                                     const Pass& pass,
                                     const ChosenRows& chosen) {
  if (!is_blind_to_places() || !qkv_->is_plain()) {
    return chosen.of(mixed(x, pass));
  }
  const int64_t width = head_width(options_);
  const int64_t own = options_.heads * width;
  const auto query = qkv_->part(chosen.of(x), 0, own);                    // (M, H K)
  const auto rest = qkv_->part(x, own, 2 * key_heads(options_) * width);  // (N, 2 G K)
  const auto chance = pass.chance(site(options_.layer, BlockSite::kAttentionWeights));
  return kernels::attention({.query = query, .key = rest}, chosen.layout, pass.layout,
                            settings(x, pass), chance);
}

at::Tensor FullAttention::rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) {
  return output_->adapted(mixed_rows(x, pass, chosen), chosen.of(pass));  // (M, D)
}

std::vector<at::Tensor> FullAttention::weights(const at::Tensor& x, const Pass& pass) {
  return kernels::attention_weights(qkv_->adapted(x, pass), pass.layout, settings(x, pass));
}

}  // namespace weft::nn
