#include "nn/attention/attention_core.h"

#include <ATen/Functions.h>

#include "kernels/attention/rotary.h"
#include "kernels/dropout.h"
#include "kernels/sum.h"

namespace weft::nn {

std::vector<at::Tensor> AttentionCore::weights(const CoreInput& /*input*/,
                                               const ForwardContext& /*context*/) {
  TORCH_CHECK(false, "this attention type has no attention weights to show");
}

kernels::AttentionInput separate_rows(const at::Tensor& qkv,
                                      const at::Tensor& rotary,
                                      const at::Tensor& positions,
                                      const AttentionOptions& options) {
  const int64_t width = head_dim(options);
  const int64_t q_size = options.heads * width;
  const int64_t kv_size = key_heads(options) * width;
  auto rotated_qk = qkv.narrow(1, 0, q_size + kv_size);  // queries and keys
  if (rotary.defined()) {
    const auto heads = rotated_qk.unflatten(1, {-1, width});
    rotated_qk = kernels::apply_rotary(heads, rotary, positions).flatten(1);
  }
  return {.query = rotated_qk.narrow(1, 0, q_size),
          .key = rotated_qk.narrow(1, q_size, kv_size),
          .value = qkv.narrow(1, q_size + kv_size, kv_size)};
}

AttentionSpan span_of(const CoreInput& input,
                      int64_t b,
                      bool is_causal,
                      const ForwardContext& context) {
  const auto queries = input.queries.length(b);
  const auto keys = input.keys.length(b);
  const auto& prefixes = context.prefix_lengths;
  return {.queries = queries,
          .keys = keys,
          .offset = is_causal ? keys - queries : 0,
          .prefix = prefixes.empty() ? 0 : prefixes.at(static_cast<std::size_t>(b))};
}

at::Tensor heads_of_sequence(const at::Tensor& x,
                             const kernels::Layout& layout,
                             int64_t b,
                             const AttentionOptions& options) {
  const auto first = layout.offsets[static_cast<std::size_t>(b)];
  const auto heads = x.narrow(0, first, layout.length(b))
                         .to(kernels::accumulate_type(x))
                         .unflatten(1, {-1, head_dim(options)});
  return at::repeat_interleave(heads, options.heads / heads.size(1), 1).transpose(0, 1);
}

kernels::AttentionSettings attention_settings(const AttentionOptions& options,
                                              const ForwardContext& context,
                                              bool by_head) {
  return {.heads = by_head ? 1 : options.heads,
          .key_heads = by_head ? 1 : key_heads(options),
          .scale = options.scale,
          .dropout = context.rate(options.dropout)};
}

at::Tensor drop_mixed_values(const at::Tensor& values,
                             const AttentionOptions& options,
                             const CoreInput& input,
                             const ForwardContext& context) {
  return kernels::dropout(values, context.rate(options.dropout), input.rng_key);
}

kernels::AttentionInput separated(const CoreInput& input, const AttentionOptions& options) {
  auto rows = input.rows;
  if (input.qkv.defined()) {
    // By place in the sequence like the kernels, also where the layout has other positions.
    const auto places =
        input.rotary.defined()
            ? kernels::Layout::from_offsets(input.queries.offsets, input.qkv.device()).positions
            : at::Tensor();
    rows = separate_rows(input.qkv, input.rotary, places, options);
  } else if (!rows.value.defined()) {
    const auto halves = rows.key.chunk(2, 1);
    rows.key = halves[0];
    rows.value = halves[1];
  }
  if (rows.key_begins.empty()) {
    rows.key_begins = input.keys.offsets;
    rows.key_begins.pop_back();
  }
  return rows;
}

}  // namespace weft::nn
