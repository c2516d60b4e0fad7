#include "nn/attention/kv_cache.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// Layout with lengths only, which is all that attention needs for keys.
kernels::Layout key_layout(std::vector<int64_t> offsets) {
  kernels::Layout layout;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    layout.max_length = std::max(layout.max_length, offsets[b + 1] - offsets[b]);
  }
  layout.position_limit = layout.max_length;
  layout.offsets = std::move(offsets);
  return layout;
}

}  // namespace

KvCache::KvCache(int64_t sequences)
    : lengths_(static_cast<std::size_t>(sequences), 0),
      previous_lengths_(lengths_),
      source_indices_(lengths_) {
  std::iota(source_indices_.begin(), source_indices_.end(), 0);
}

kernels::Layout KvCache::begin_step(const std::vector<int64_t>& counts, const at::Device& device) {
  TORCH_CHECK(counts.size() == lengths_.size(), "a forward pass over ", lengths_.size(),
              " sequences expects the same number of counts, got ", counts.size());
  previous_lengths_ = lengths_;
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> all{0};
  for (std::size_t b = 0; b < counts.size(); ++b) {
    lengths_[b] += counts[b];
    offsets.push_back(offsets.back() + counts[b]);
    all.push_back(all.back() + lengths_[b]);
  }
  layout_ = kernels::Layout::continuing(std::move(offsets), previous_lengths_, device);
  full_layout_ = key_layout(std::move(all));
  return layout_;
}

void KvCache::reorder(const std::vector<int64_t>& rows) {
  const auto selected = [&](const std::vector<int64_t>& values) {
    std::vector<int64_t> result;
    for (const auto row : rows) {
      TORCH_CHECK(row >= 0 && row < sequences(), "no sequence ", row, " of ", sequences());
      result.push_back(values[static_cast<std::size_t>(row)]);
    }
    return result;
  };
  std::vector<int64_t> same(lengths_.size());
  std::iota(same.begin(), same.end(), 0);
  if (rows == same) {
    return;
  }
  auto lengths = selected(lengths_);
  previous_lengths_ = selected(previous_lengths_);
  source_indices_ = selected(source_indices_);
  for (auto& [index, layer] : layers_) {
    if (layer.self_kv.defined()) {
      layer.self_kv =
          layer.self_kv.index_select(0, kernels::to_device(rows, layer.self_kv.device()));
    }
  }
  lengths_ = std::move(lengths);
}

// Doubles the capacity whenever it is exhausted.
void KvCache::grow(Layer& layer, const at::Tensor& key) const {
  const int64_t capacity = layer.self_kv.defined() ? layer.self_kv.size(1) : 0;
  if (layer.self_kv.defined() && capacity >= full_layout_.max_length) {
    return;
  }
  constexpr int64_t kFewest = 32;
  const int64_t wanted = std::max({kFewest, 2 * capacity, full_layout_.max_length});
  auto larger = at::empty({sequences(), wanted, 2 * key.size(1)}, key.options());
  if (capacity > 0) {
    larger.narrow(1, 0, capacity).copy_(layer.self_kv);
  }
  layer.self_kv = larger;
}

CachedKv KvCache::extend(int64_t index, const at::Tensor& key, const at::Tensor& value) {
  TORCH_CHECK(key.size(0) == layout_.tokens(), "the current step has ", layout_.tokens(),
              " tokens, got ", key.size(0));
  auto& layer = layers_[index];
  grow(layer, key);
  const int64_t capacity = layer.self_kv.size(1);
  std::vector<int64_t> starts;
  std::vector<int64_t> rows;
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    starts.push_back(static_cast<int64_t>(b) * capacity);
    for (int64_t i = previous_lengths_[b]; i < lengths_[b]; ++i) {
      rows.push_back(starts.back() + i);
    }
  }
  auto flat = layer.self_kv.view({sequences() * capacity, 2 * key.size(1)});
  flat.index_copy_(0, kernels::to_device(rows, key.device()), at::cat({key, value}, 1));
  return {.key = flat.narrow(1, 0, key.size(1)),
          .value = flat.narrow(1, key.size(1), key.size(1)),
          .starts = std::move(starts),
          .layout = full_layout_};
}

bool KvCache::has_encoder_kv(int64_t index) const {
  const auto found = layers_.find(index);
  return found != layers_.end() && found->second.encoder_kv.defined();
}

void KvCache::store_encoder_kv(int64_t index, const at::Tensor& key, const at::Tensor& value) {
  layers_[index].encoder_kv = at::cat({key, value}, 1);
}

CachedKv KvCache::encoder_kv(int64_t index, const kernels::Layout& encoder_layout) const {
  const auto& cached = layers_.at(index).encoder_kv;
  TORCH_CHECK(cached.size(0) == encoder_layout.tokens(), "the cache has ", cached.size(0),
              " rows of encoder states, their layout ", encoder_layout.tokens());
  std::vector<int64_t> starts;
  std::vector<int64_t> offsets{0};
  for (const auto source : source_indices_) {
    const auto i = static_cast<std::size_t>(source);
    starts.push_back(encoder_layout.offsets[i]);
    offsets.push_back(offsets.back() + encoder_layout.offsets[i + 1] - encoder_layout.offsets[i]);
  }
  const int64_t width = cached.size(1) / 2;
  return {.key = cached.narrow(1, 0, width),
          .value = cached.narrow(1, width, width),
          .starts = std::move(starts),
          .layout = key_layout(std::move(offsets))};
}

KvCache& kv_cache_of(const ForwardContext& context) {
  auto* const cache = dynamic_cast<KvCache*>(context.decoding_state);
  TORCH_CHECK(cache != nullptr, "attention expects a KV cache as decoding state");
  return *cache;
}

}  // namespace weft::nn
