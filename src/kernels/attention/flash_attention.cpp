#include "kernels/attention/flash_attention.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <tuple>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/random.h"
#include "kernels/attention/rotary.h"

namespace weft::kernels::gpu {
namespace {

constexpr int64_t kMaxHeadWidth = 192;  // maximum whose backward pass fits on all of these GPUs
constexpr int64_t kHeadStep = 8;

/// Whether the device supports an operation: whether a call of it on tiny tensors succeeds.
template <class Call>
bool succeeds(const Call& call) {
  const at::NoGradGuard no_grad;
  try {
    call();
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

/// The common length of all sequences of both layouts, or 0.
int64_t equal_length(const Layout& queries, const Layout& keys) {
  if (queries.offsets != keys.offsets || queries.sequences() == 0) {
    return 0;
  }
  return queries.tokens() == queries.sequences() * queries.max_length ? queries.max_length : 0;
}

/// Whether cuDNN's attention, faster than LibTorch's on GPUs since Hopper, works on this device.
bool has_cudnn_attention(const at::Device& device) {
  if (!device.is_cuda()) {
    return false;
  }
  static const bool kHas = succeeds([&] {
    const auto x = at::zeros({1, 1, 128, 64}, at::TensorOptions(device).dtype(at::kBFloat16));
    at::_scaled_dot_product_cudnn_attention(x, x, x, std::nullopt, false);
  });
  return kHas;
}

/// cuDNN prepares a plan for each shape, which pays for itself if all steps have the same one.
bool suits_cudnn(const at::Tensor& q,
                 const at::Tensor& k,
                 int64_t length,
                 const AttentionSettings& settings) {
  constexpr int64_t kMinLength = 128;
  constexpr int64_t kMaxWidth = 128;
  return length >= kMinLength && q.size(1) == k.size(1) && q.size(2) <= kMaxWidth &&
         settings.window_radius < 0 && has_cudnn_attention(q.device());
}

/// Attention over (N, H, K) of sequences of one length -> (N, H, K).
at::Tensor cudnn_attention(const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& v,
                           int64_t length,
                           const AttentionSettings& settings,
                           std::optional<double> scale) {
  const auto by_head = [&](const at::Tensor& x) {
    return x.unflatten(0, {-1, length}).transpose(1, 2);  // (B, H, L, K)
  };
  const auto out = std::get<0>(at::_scaled_dot_product_cudnn_attention(
      by_head(q), by_head(k), by_head(v), std::nullopt, /*compute_log_sumexp=*/true,
      settings.dropout, settings.is_causal, /*return_debug_mask=*/false, scale));
  return out.transpose(1, 2).flatten(0, 1);
}

/// Length of each sequence, (B) int32.
at::Tensor sequence_lengths(const Layout& layout) {
  return layout.device_offsets.slice(0, 1) - layout.device_offsets.slice(0, 0, -1);
}

/// Position of each token in its sequence, plus the sequence's shift: (N) int64.
at::Tensor token_positions(const Layout& layout, const at::Tensor& shifts) {
  const auto offsets = layout.device_offsets.to(at::kLong);
  const auto rows = at::arange(layout.tokens(), offsets.options());
  const auto sequence = at::bucketize(rows, offsets.slice(0, 1), false, true);  // (N)
  const auto first = offsets.slice(0, 0, -1);
  return rows - (first - shifts).index_select(0, sequence);
}

}  // namespace

void seed_dropout(const at::Device& device, const DropoutRule& rule, int64_t first) {
  const uint64_t key = (static_cast<uint64_t>(rule.key[1]) << 32U) | rule.key[0];
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(hash_combine(key, static_cast<uint64_t>(first)));
}

bool has_flash_attention(const at::Device& device) {
  static const bool kHas = succeeds([&] {
    const auto one = at::zeros({1, 1, kHeadStep}, at::TensorOptions(device).dtype(at::kBFloat16));
    const auto ends = at::arange(2, at::TensorOptions(device).dtype(at::kInt));
    at::_flash_attention_forward(one, one, one, ends, ends, 1, 1, 0.0, false, false);
  });
  return kHas;
}

bool supports_flash_attention(const AttentionInput& input, const AttentionSettings& settings) {
  const auto type = input.query.scalar_type();
  const auto width = input.query.size(1) / settings.heads;
  const auto is_none = [](int64_t count) { return count == 0; };
  return (type == at::kBFloat16 || type == at::kHalf) && width % kHeadStep == 0 &&
         width <= kMaxHeadWidth && input.query.size(0) > 0 && input.key.size(0) > 0 &&
         input.key_begins.empty() && input.groups == nullptr && !settings.distance_bias.defined() &&
         settings.distance_vectors.is_empty() && !settings.query_bias.defined() &&
         std::all_of(settings.prefix_lengths.begin(), settings.prefix_lengths.end(), is_none);
}

at::Tensor flash_attention(const AttentionInput& input,
                           const Layout& queries,
                           const Layout& keys,
                           const AttentionSettings& settings,
                           const RngKey& rng_key) {
  const auto width = input.query.size(1) / settings.heads;
  const auto heads = [&](const at::Tensor& x) { return x.unflatten(1, {-1, width}); };
  auto q = heads(input.query);  // (N, H, K)
  auto k = heads(input.key);    // (M, G, K)
  if (settings.rotary.defined()) {
    const auto none = at::zeros({keys.sequences()}, keys.device_offsets.options());
    const auto positions = token_positions(keys, none);
    auto query_positions = positions;
    if (queries.offsets != keys.offsets) {
      const auto shifts =
          settings.is_causal ? sequence_lengths(keys) - sequence_lengths(queries) : none;
      query_positions = token_positions(queries, shifts);
    }
    q = apply_rotary(q, settings.rotary, query_positions);
    k = apply_rotary(k, settings.rotary, positions);
  }
  if (settings.dropout > 0.0) {
    seed_dropout(q.device(), attention_dropout_rule(settings.dropout, rng_key),
                 rng_key.first_sequence);
  }
  const auto scale = settings.scale != 0.0 ? std::optional(settings.scale) : std::nullopt;
  const auto v = heads(input.value);
  if (const int64_t length = equal_length(queries, keys); suits_cudnn(q, k, length, settings)) {
    return cudnn_attention(q, k, v, length, settings, scale).flatten(1);  // (N, H K)
  }
  const auto window_radius =
      settings.window_radius >= 0 ? std::optional(settings.window_radius) : std::nullopt;
  const auto out = std::get<0>(at::_flash_attention_forward(
      q, k, v, queries.device_offsets, keys.device_offsets, queries.max_length, keys.max_length,
      settings.dropout, settings.is_causal, /*return_debug_mask=*/false, scale, window_radius,
      settings.is_causal ? std::nullopt : window_radius));
  return out.flatten(1);  // (N, H K)
}

}  // namespace weft::kernels::gpu
