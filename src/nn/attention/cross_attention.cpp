#include "nn/attention/cross_attention.h"

#include "nn/attention/decoding_cache.h"
#include "nn/sites.h"

namespace weft::nn {

CrossAttention::CrossAttention(const AttentionOptions& options) : options_(options) {
  const int64_t width = head_width(options);
  const int64_t own = options.heads * width;
  const int64_t memory = options.memory_dim > 0 ? options.memory_dim : options.dim;
  query_ = make_part<Linear>("query", LinearOptions{options.dim, own, options.has_bias});
  key_value_ = make_part<Linear>(
      "key_value", LinearOptions{memory, 2 * key_heads(options) * width, options.has_bias});
  output_ = make_part<Linear>(
      "output",
      LinearOptions{own, options.dim, options.has_output_bias.value_or(options.has_bias)});
}

at::Tensor CrossAttention::mixed(const at::Tensor& query, const Pass& pass) {
  const auto& memory = *pass.memory;
  const int64_t shared = key_heads(options_) * head_width(options_);
  const kernels::AttentionSettings settings{.heads = options_.heads,
                                            .key_heads = key_heads(options_),
                                            .scale = options_.scale,
                                            .dropout = pass.rate(options_.dropout)};
  auto* const cache = pass.cache;
  if (cache == nullptr || !cache->has_memory(options_.layer)) {
    const auto rows = key_value_->adapted(memory.states, pass);  // (M, 2 G K)
    if (cache == nullptr) {
      return kernels::attention(
          {.query = query, .key = rows}, pass.layout, memory.layout, settings,
          pass.chance(site(options_.layer, BlockSite::kCrossAttentionWeights)));
    }
    cache->keep_memory(options_.layer, rows.narrow(1, 0, shared), rows.narrow(1, shared, shared));
  }
  const auto kept = cache->memory(options_.layer, memory.layout);
  return kernels::attention(
      {.query = query, .key = kept.key, .value = kept.value, .key_begins = kept.begins},
      pass.layout, kept.layout, settings, {});
}

at::Tensor CrossAttention::forward(const at::Tensor& x, const Pass& pass) {
  TORCH_CHECK(pass.memory != nullptr, "cross attention needs the states of an encoder");
  return output_->adapted(mixed(query_->adapted(x, pass), pass), pass);
}

}  // namespace weft::nn
