#include "nn/attention/kv_cache.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

constexpr auto kKv = "kv";

/// Layout of sequences of these lengths, without positions, which is all that attention needs for
/// keys.
kernels::Layout key_layout(const std::vector<int64_t>& lengths) {
  kernels::Layout layout;
  for (const auto length : lengths) {
    layout.offsets.push_back(layout.offsets.back() + length);
    layout.max_length = std::max(layout.max_length, length);
  }
  layout.position_limit = layout.max_length;
  return layout;
}

/// Doubles the capacity of (B, capacity, width) whenever `rows` exhaust it.
void grow_cache(at::Tensor& cache, const at::Tensor& like, at::IntArrayRef shape) {
  const int64_t capacity = cache.defined() ? cache.size(1) : 0;
  const int64_t rows = shape[1];
  if (cache.defined() && capacity >= rows) {
    return;
  }
  constexpr int64_t kFewest = 32;
  auto larger =
      at::empty({shape[0], std::max({kFewest, 2 * capacity, rows}), shape[2]}, like.options());
  if (capacity > 0) {
    larger.narrow(1, 0, capacity).copy_(cache);
  }
  cache = larger;
}

}  // namespace

CachedKv KvCache::extend(int64_t layer, const at::Tensor& key, const at::Tensor& value) {
  const auto& before = state_.previous_lengths();
  const auto& lengths = state_.lengths();
  auto layout = key_layout(lengths);
  auto& cache = state_.token_tensor(layer, kKv);  // (B, capacity, 2 G K): keys next to values
  grow_cache(cache, key, {state_.sequences(), layout.max_length, 2 * key.size(1)});
  const int64_t capacity = cache.size(1);
  std::vector<int64_t> starts;
  std::vector<int64_t> rows;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    starts.push_back(static_cast<int64_t>(b) * capacity);
    for (int64_t i = before[b]; i < lengths[b]; ++i) {
      rows.push_back(starts.back() + i);
    }
  }
  TORCH_CHECK(key.size(0) == static_cast<int64_t>(rows.size()), "the current step has ",
              rows.size(), " tokens, got ", key.size(0));
  auto flat = cache.view({state_.sequences() * capacity, 2 * key.size(1)});
  flat.index_copy_(0, kernels::to_device(rows, key.device()), at::cat({key, value}, 1));
  return {.key = flat.narrow(1, 0, key.size(1)),
          .value = flat.narrow(1, key.size(1), key.size(1)),
          .starts = std::move(starts),
          .layout = std::move(layout)};
}

bool KvCache::has_encoder_kv(int64_t layer) const {
  return state_.source_tensor(layer, kKv).defined();
}

void KvCache::store_encoder_kv(int64_t layer, const at::Tensor& key, const at::Tensor& value) {
  state_.source_tensor(layer, kKv) = at::cat({key, value}, 1);  // (M, 2 G K)
}

CachedKv KvCache::encoder_kv(int64_t layer, const kernels::Layout& encoder_layout) const {
  const auto& cached = state_.source_tensor(layer, kKv);
  TORCH_CHECK(cached.size(0) == encoder_layout.tokens(), "the cache has ", cached.size(0),
              " rows of encoder states, their layout ", encoder_layout.tokens());
  std::vector<int64_t> starts;
  std::vector<int64_t> lengths;
  for (const auto source : state_.source_indices()) {
    starts.push_back(encoder_layout.offsets[static_cast<std::size_t>(source)]);
    lengths.push_back(encoder_layout.length(source));
  }
  const int64_t width = cached.size(1) / 2;
  return {.key = cached.narrow(1, 0, width),
          .value = cached.narrow(1, width, width),
          .starts = std::move(starts),
          .layout = key_layout(lengths)};
}

KvCache kv_cache_of(const ForwardContext& context) {
  TORCH_CHECK(context.decoding_state != nullptr, "a KV cache needs a decoding state");
  return KvCache(*context.decoding_state);
}

}  // namespace weft::nn
