#include "nn/attention/decoding_cache.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// Lengths alone, which is what attention asks of keys.
kernels::Layout layout_of(std::vector<int64_t> offsets) {
  kernels::Layout layout;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    layout.longest = std::max(layout.longest, offsets[b + 1] - offsets[b]);
  }
  layout.furthest = layout.longest;
  layout.offsets = std::move(offsets);
  return layout;
}

}  // namespace

DecodingCache::DecodingCache(int64_t sequences)
    : lengths_(static_cast<std::size_t>(sequences), 0), before_(lengths_), sources_(lengths_) {
  std::iota(sources_.begin(), sources_.end(), 0);
}

kernels::Layout DecodingCache::begin(const std::vector<int64_t>& counts, const at::Device& device) {
  TORCH_CHECK(counts.size() == lengths_.size(), "a pass over ", lengths_.size(),
              " sequences expects as many counts, got ", counts.size());
  before_ = lengths_;
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> all{0};
  for (std::size_t b = 0; b < counts.size(); ++b) {
    lengths_[b] += counts[b];
    offsets.push_back(offsets.back() + counts[b]);
    all.push_back(all.back() + lengths_[b]);
  }
  layout_ = kernels::Layout::going_on(std::move(offsets), before_, device);
  all_ = layout_of(std::move(all));
  return layout_;
}

void DecodingCache::reorder(const std::vector<int64_t>& rows) {
  const auto chosen = [&](const std::vector<int64_t>& values) {
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
  auto lengths = chosen(lengths_);
  before_ = chosen(before_);
  sources_ = chosen(sources_);
  for (auto& layer : layers_) {
    if (layer.own.defined()) {
      layer.own = layer.own.index_select(0, kernels::to_device(rows, layer.own.device()));
    }
  }
  lengths_ = std::move(lengths);
}

DecodingCache::Layer& DecodingCache::layer(int64_t index) {
  const auto wanted = static_cast<std::size_t>(index) + 1;
  if (layers_.size() < wanted) {
    layers_.resize(wanted);
  }
  return layers_[wanted - 1];
}

// Room for twice as many tokens each time it runs out.
void DecodingCache::grow(Layer& layer, const at::Tensor& key) const {
  const int64_t room = layer.own.defined() ? layer.own.size(1) : 0;
  if (layer.own.defined() && room >= all_.longest) {
    return;
  }
  constexpr int64_t kFewest = 32;
  const int64_t wanted = std::max({kFewest, 2 * room, all_.longest});
  auto larger = at::empty({sequences(), wanted, 2 * key.size(1)}, key.options());
  if (room > 0) {
    larger.narrow(1, 0, room).copy_(layer.own);
  }
  layer.own = larger;
}

CachedRows DecodingCache::extend(int64_t index, const at::Tensor& key, const at::Tensor& value) {
  TORCH_CHECK(key.size(0) == layout_.tokens(), "the pass that began has ", layout_.tokens(),
              " tokens, got ", key.size(0));
  auto& layer = this->layer(index);
  grow(layer, key);
  const int64_t room = layer.own.size(1);
  std::vector<int64_t> begins;
  std::vector<int64_t> rows;
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    begins.push_back(static_cast<int64_t>(b) * room);
    for (int64_t i = before_[b]; i < lengths_[b]; ++i) {
      rows.push_back(begins.back() + i);
    }
  }
  auto flat = layer.own.view({sequences() * room, 2 * key.size(1)});
  flat.index_copy_(0, kernels::to_device(rows, key.device()), at::cat({key, value}, 1));
  return {.key = flat.narrow(1, 0, key.size(1)),
          .value = flat.narrow(1, key.size(1), key.size(1)),
          .begins = std::move(begins),
          .layout = all_};
}

bool DecodingCache::has_memory(int64_t index) const {
  const auto place = static_cast<std::size_t>(index);
  return place < layers_.size() && layers_[place].memory.defined();
}

void DecodingCache::keep_memory(int64_t index, const at::Tensor& key, const at::Tensor& value) {
  layer(index).memory = at::cat({key, value}, 1);
}

CachedRows DecodingCache::memory(int64_t index, const kernels::Layout& memory_layout) const {
  const auto& kept = layers_.at(static_cast<std::size_t>(index)).memory;
  TORCH_CHECK(kept.size(0) == memory_layout.tokens(), "the memory has ", kept.size(0),
              " rows, its layout ", memory_layout.tokens());
  std::vector<int64_t> begins;
  std::vector<int64_t> offsets{0};
  for (const auto source : sources_) {
    const auto i = static_cast<std::size_t>(source);
    begins.push_back(memory_layout.offsets[i]);
    offsets.push_back(offsets.back() + memory_layout.offsets[i + 1] - memory_layout.offsets[i]);
  }
  const int64_t width = kept.size(1) / 2;
  return {.key = kept.narrow(1, 0, width),
          .value = kept.narrow(1, width, width),
          .begins = std::move(begins),
          .layout = layout_of(std::move(offsets))};
}

}  // namespace weft::nn
