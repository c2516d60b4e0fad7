#include <algorithm>
#include <tuple>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/attention/rotary.h"
#include "kernels/gpu.h"

namespace weft::kernels::gpu {
namespace {

constexpr int64_t kWidestHead = 192;  // whose gradients all of these GPUs have the room for
constexpr int64_t kHeadStep = 8;

/// (B) int32: how many tokens each sequence has.
at::Tensor lengths_of(const Layout& layout) {
  return layout.device_offsets.slice(0, 1) - layout.device_offsets.slice(0, 0, -1);
}

/// (N) int64: the place of each token in its sequence, plus the shift of the sequence.
at::Tensor places_of(const Layout& layout, const at::Tensor& shifts) {
  const auto offsets = layout.device_offsets.to(at::kLong);
  const auto rows = at::arange(layout.tokens(), offsets.options());
  const auto sequence = at::bucketize(rows, offsets.slice(0, 1), false, true);  // (N)
  const auto first = offsets.slice(0, 0, -1);
  return rows - (first - shifts).index_select(0, sequence);
}

}  // namespace

bool has_flash_attention(const at::Device& device) {
  static const bool has = [&] {
    const at::NoGradGuard no_grad;
    const auto one = at::zeros({1, 1, kHeadStep}, at::TensorOptions(device).dtype(at::kBFloat16));
    const auto ends = at::arange(2, at::TensorOptions(device).dtype(at::kInt));
    try {
      at::_flash_attention_forward(one, one, one, ends, ends, 1, 1, 0.0, false, false);
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }();
  return has;
}

bool suits_flash_attention(const AttentionInput& input, const AttentionSettings& settings) {
  const auto type = input.query.scalar_type();
  const auto width = input.query.size(1) / settings.heads;
  const auto is_none = [](int64_t count) { return count == 0; };
  return (type == at::kBFloat16 || type == at::kHalf) && width % kHeadStep == 0 &&
         width <= kWidestHead && input.query.size(0) > 0 && input.key.size(0) > 0 &&
         input.key_begins.empty() && !settings.distance_bias.defined() &&
         std::all_of(settings.prefixes.begin(), settings.prefixes.end(), is_none);
}

at::Tensor flash_attention(const AttentionInput& input,
                           const Layout& queries,
                           const Layout& keys,
                           const AttentionSettings& settings,
                           const Chance& chance) {
  const auto width = input.query.size(1) / settings.heads;
  const auto heads = [&](const at::Tensor& x) { return x.unflatten(1, {-1, width}); };
  auto q = heads(input.query);  // (N, H, K)
  auto k = heads(input.key);    // (M, G, K)
  if (settings.rotary.defined()) {
    const auto none = at::zeros({keys.sequences()}, keys.device_offsets.options());
    const auto places = places_of(keys, none);
    auto query_places = places;
    if (queries.offsets != keys.offsets) {
      const auto shifts = settings.is_causal ? lengths_of(keys) - lengths_of(queries) : none;
      query_places = places_of(queries, shifts);
    }
    q = rotated(q, settings.rotary, query_places);
    k = rotated(k, settings.rotary, places);
  }
  if (settings.dropout > 0.0) {
    set_chance(q.device(), attention_drop_rule(settings.dropout, chance), chance.first_sequence);
  }
  const auto scale = settings.scale != 0.0 ? std::optional(settings.scale) : std::nullopt;
  const auto reach = settings.reach >= 0 ? std::optional(settings.reach) : std::nullopt;
  const auto out = std::get<0>(at::_flash_attention_forward(
      q, k, heads(input.value), queries.device_offsets, keys.device_offsets, queries.longest,
      keys.longest, settings.dropout, settings.is_causal, /*return_debug_mask=*/false, scale, reach,
      settings.is_causal ? std::nullopt : reach));
  return out.flatten(1);  // (N, H K)
}

}  // namespace weft::kernels::gpu
