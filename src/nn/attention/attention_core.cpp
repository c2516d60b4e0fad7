#include "nn/attention/attention_core.h"

#include "kernels/attention/rotary.h"
#include "kernels/dropout.h"

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
    const auto places = kernels::Layout::from_offsets(input.queries.offsets, input.qkv.device());
    rows = separate_rows(input.qkv, input.rotary, places.positions, options);
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
