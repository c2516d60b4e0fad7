#include "nn/full_attention.h"

#include "kernels/attention_weights.h"
#include "nn/pooler.h"
#include "nn/sites.h"

namespace weft::nn {

namespace {

int64_t head_width(const AttentionOptions& options) {
  TORCH_CHECK(options.heads > 0 && options.dim % options.heads == 0, options.heads,
              " heads do not divide width ", options.dim);
  return options.dim / options.heads;
}

}  // namespace

FullAttention::FullAttention(const AttentionOptions& options)
    : options_(options), angles_(head_width(options), options.theta) {
  qkv_ = make_part<Linear>("qkv", LinearOptions{options.dim, 3 * options.dim, options.has_bias});
  output_ = make_part<Linear>("output", LinearOptions{options.dim, options.dim, options.has_bias});
}

kernels::AttentionSettings FullAttention::settings(const at::Tensor& x, const Pass& pass) {
  return {.heads = options_.heads,
          .is_causal = options_.is_causal,
          .reach = reach(),
          .dropout = pass.rate(options_.dropout),
          .rotary = angles_.table(pass.layout.longest, x.device())};
}

at::Tensor FullAttention::mixed(const at::Tensor& x, const Pass& pass) {
  const auto chance = pass.chance(site(options_.layer, BlockSite::kAttentionWeights));
  return kernels::attention(qkv_->adapted(x, pass), pass.layout, settings(x, pass), chance);
}

at::Tensor FullAttention::forward(const at::Tensor& x, const Pass& pass) {
  return output_->adapted(mixed(x, pass), pass);  // (N, D)
}

at::Tensor FullAttention::first_tokens(const at::Tensor& x, const Pass& pass) {
  return output_->adapted(nn::first_tokens(mixed(x, pass), pass.layout), pass.by_sequence());
}

std::vector<at::Tensor> FullAttention::weights(const at::Tensor& x, const Pass& pass) {
  return kernels::attention_weights(qkv_->adapted(x, pass), pass.layout, settings(x, pass));
}

}  // namespace weft::nn
