#include "train/optimizer/flat_parameters.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/optimizer.h"

namespace weft::train {

namespace {

// 64 bytes in bf16, 128 in fp32: a cache line either way.
constexpr int64_t kAlignment = 32;

int64_t aligned(int64_t count, int64_t unit = kAlignment) {
  return (count + unit - 1) / unit * unit;
}

/// Whether the parameters can be in one range of the layout.
bool are_exchanged_together(const ParameterEntry& a, const ParameterEntry& b) {
  return a.unit == b.unit && a.owner == b.owner;
}

}  // namespace

at::Tensor SegmentParameter::view(const at::Tensor& segment_tensor) const {
  return segment_tensor.narrow(0, begin, count).view(shape);
}

FlatParameters::FlatParameters(torch::nn::Module& module,
                               at::ScalarType compute_type,
                               const ParameterSettingsFunction& settings_of,
                               const ShardOptions& shard) {
  collect(module, settings_of, shard);
  assign_offsets(shard);
  const at::NoGradGuard no_grad;
  const auto options = entries_.empty() ? at::TensorOptions()
                                        : entries_.front().parameter.options().requires_grad(false);
  const auto zeros = [&](int64_t size, at::ScalarType type) {
    return at::zeros({size}, options.dtype(type));
  };
  const auto whole = shards_weights() ? at::Tensor() : zeros(size_, compute_type);
  const bool has_own_master = layout_.is_sharded() || compute_type != at::kFloat;
  master_ = has_own_master ? zeros(layout_.owned_size(), at::kFloat) : whole;
  if (compute_type != at::kFloat) {
    compute_ = layout_.is_sharded() ? zeros(layout_.owned_size(), compute_type) : whole;
  }
  if (!layout_.is_sharded() || shard.sharding == Sharding::kOptimizer) {
    gradient_ = zeros(trained_size_, compute_type);
  }
  for (const auto& each : layout_.ranges()) {
    weights_.push_back(whole.defined() ? whole.narrow(0, each.range.begin, each.range.count)
                                       : zeros(each.range.count, compute_type));
    bind(each);
  }
}

FlatParameters::FlatParameters(torch::nn::Module& module,
                               at::ScalarType compute_type,
                               DecayOn decay_on)
    : FlatParameters(
          module,
          compute_type,
          [decay_on](const std::string& /*name*/, const at::Tensor& parameter) {
            return ParameterSettings{.decays = decay_on == DecayOn::kAll || parameter.dim() >= 2};
          }) {}

void FlatParameters::collect(torch::nn::Module& module,
                             const ParameterSettingsFunction& settings_of,
                             const ShardOptions& shard) {
  // By tensor, because tied weights are one tensor under two names.
  std::unordered_map<const void*, std::size_t> indices;
  for (const auto& item : module.named_parameters()) {
    const auto& parameter = item.value();
    const auto [found, is_new] =
        indices.try_emplace(parameter.unsafeGetTensorImpl(), entries_.size());
    names_[item.key()] = found->second;
    if (is_new) {
      entries_.push_back({.name = item.key(),
                          .parameter = parameter,
                          .begin = 0,
                          .count = parameter.numel(),
                          .is_trained = parameter.requires_grad(),
                          .settings = settings_of(item.key(), parameter),
                          .owner = owner_of(item.key(), shard),
                          .unit = std::string(unit_of(item.key()))});
    } else if (entries_[found->second].unit != unit_of(item.key())) {
      entries_[found->second].unit.clear();
    }
  }
}

// Assigns an offset to every parameter, and owners.
void FlatParameters::assign_offsets(const ShardOptions& shard) {
  std::size_t groups = 0;
  for (const auto& entry : entries_) {
    groups = std::max(groups, entry.settings.group + 1);
  }
  for (std::size_t group = 0; group < groups; ++group) {
    trained_size_ = append_trained(group, true, trained_size_);
    trained_size_ = append_trained(group, false, trained_size_);
  }
  size_ = append_frozen(true, trained_size_);
  size_ = append_frozen(false, size_);
  trained_size_ = size_ > trained_size_ ? aligned(trained_size_, kernels::kSumBlock) : size_;
  layout_ = make_layout(shard);
  add_slices();
}

ShardLayout FlatParameters::make_layout(const ShardOptions& shard) const {
  std::vector<const ParameterEntry*> in_flat_order;
  std::vector<std::string> units;
  for (const auto& entry : entries_) {
    in_flat_order.push_back(&entry);
    if (std::find(units.begin(), units.end(), entry.unit) == units.end()) {
      units.push_back(entry.unit);
    }
  }
  std::sort(in_flat_order.begin(), in_flat_order.end(),
            [](const auto* a, const auto* b) { return a->begin < b->begin; });
  std::vector<UnitRange> ranges;
  const ParameterEntry* before = nullptr;
  for (const auto* entry : in_flat_order) {
    if (before == nullptr || !are_exchanged_together(*before, *entry) ||
        before->is_trained != entry->is_trained) {
      const auto unit = std::find(units.begin(), units.end(), entry->unit);
      ranges.push_back({.range = {.begin = entry->begin},
                        .unit = static_cast<std::size_t>(unit - units.begin()),
                        .is_trained = entry->is_trained,
                        .owner = entry->owner});
    }
    before = entry;
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {  // with the gaps after them
    auto& range = ranges[i].range;
    range.count = (i + 1 < ranges.size() ? ranges[i + 1].range.begin : size_) - range.begin;
  }
  return {std::move(ranges), std::move(units), shard};
}

void FlatParameters::add_slices() {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const FlatRange whole{.begin = segments_[i].begin, .count = segments_[i].count};
    if (!layout_.is_sharded()) {
      slices_.push_back({.segment = i, .own = whole});
      continue;
    }
    for (const auto& owned : layout_.owned()) {
      const auto common = intersection(owned.range, whole);
      if (common.count > 0) {
        slices_.push_back({.segment = i,
                           .own = {.begin = owned.begin + common.begin - owned.range.begin,
                                   .count = common.count}});
      }
    }
  }
}

// Assigns offsets and segments to the trained parameters of one group that decay, or to those that
// do not; returns their end.
int64_t FlatParameters::append_trained(std::size_t group, bool decays, int64_t begin) {
  int64_t end = begin;
  const ParameterEntry* before = nullptr;
  for (auto& entry : entries_) {
    const auto& settings = entry.settings;
    if (!entry.is_trained || settings.group != group || settings.decays != decays) {
      continue;
    }
    if (settings.has_own_segment || segments_.empty() || segments_.back().settings != settings) {
      end = aligned(end, kernels::kSumBlock);
      segments_.push_back({.begin = end, .settings = settings});
    } else if (!are_exchanged_together(*before, entry)) {
      end = aligned(end, kernels::kSumBlock);
    }
    auto& segment = segments_.back();
    segment.members.push_back({.name = entry.name,
                               .begin = end - segment.begin,
                               .count = entry.count,
                               .shape = entry.parameter.sizes().vec()});
    entry.begin = end;
    end += aligned(entry.count);
    segment.count = end - segment.begin;
    segment.parameters += entry.count;
    before = &entry;
  }
  return end;
}

// The same for the frozen ones, which have no segments.
int64_t FlatParameters::append_frozen(bool decays, int64_t begin) {
  int64_t end = begin;
  const ParameterEntry* before = nullptr;
  for (auto& entry : entries_) {
    if (!entry.is_trained && entry.settings.decays == decays) {
      if (before == nullptr || !are_exchanged_together(*before, entry)) {
        end = aligned(end, kernels::kSumBlock);
      }
      entry.begin = end;
      end += aligned(entry.count);
      before = &entry;
    }
  }
  return end;
}

// Moves the parameters of the range into the buffers, one by one: of a large model there should be
// no second copy at any time.
void FlatParameters::bind(const UnitRange& range) {
  const auto& weights = weights_.back();
  const int64_t first = range.range.begin;
  for (auto& entry : entries_) {
    if (intersection(range.range, {.begin = entry.begin, .count = 1}).count == 0) {
      continue;
    }
    const auto values = entry.parameter.detach().flatten();
    for (const auto& flat : {master_, compute_}) {
      if (!flat.defined() || flat.is_alias_of(weights)) {
        continue;
      }
      for (const auto& part : owned_parts(entry)) {
        flat.narrow(0, part.begin, part.range.count)
            .copy_(values.narrow(0, part.range.begin, part.range.count));
      }
    }
    auto view = weights.narrow(0, entry.begin - first, entry.count).view(entry.parameter.sizes());
    view.copy_(entry.parameter);
    entry.parameter.set_data(view);
    if (entry.is_trained && gradient_.defined()) {
      entry.parameter.mutable_grad() = parameter_view(gradient_, entry);
    }
  }
  const auto& unit = layout_.units()[range.unit];
  if (shards_weights() && !unit.name.empty() && unit.ranges.back() + 1 == weights_.size()) {
    release(unit);
  }
  if (!layout_.is_used(range)) {
    release(weights_.size() - 1);
  }
}

void FlatParameters::allocate(const Unit& unit) {
  for (const auto range : unit.ranges) {
    auto storage = weights_[range].storage();
    if (storage.nbytes() == 0 && layout_.is_used(layout_.ranges()[range])) {
      const auto bytes = static_cast<std::size_t>(weights_[range].nbytes());
      storage.unsafeGetStorageImpl()->set_data_ptr_noswap(storage.allocator()->allocate(bytes));
      storage.set_nbytes(bytes);
    }
  }
}

void FlatParameters::release(const Unit& unit) {
  for (const auto range : unit.ranges) {
    release(range);
  }
}

void FlatParameters::release(std::size_t range) {
  auto storage = weights_[range].storage();
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(
      at::DataPtr(nullptr, weights_[range].device()));
  storage.set_nbytes(0);
}

int64_t FlatParameters::parameters() const {
  return std::accumulate(
      entries_.begin(), entries_.end(), int64_t{0},
      [](int64_t sum, const ParameterEntry& entry) { return sum + entry.count; });
}

int64_t FlatParameters::trained_parameters() const {
  return std::accumulate(entries_.begin(), entries_.end(), int64_t{0},
                         [](int64_t sum, const ParameterEntry& entry) {
                           return entry.is_trained ? sum + entry.count : sum;
                         });
}

at::Tensor FlatParameters::trained_master() const {
  return master_.narrow(0, 0, layout_.is_sharded() ? layout_.owned_trained_size() : trained_size());
}

at::Tensor FlatParameters::zeros_like_trained() const { return at::zeros_like(trained_master()); }

at::Tensor FlatParameters::parameter_view(const at::Tensor& flat, const ParameterEntry& entry) {
  return flat.narrow(0, entry.begin, entry.count).view(entry.parameter.sizes());
}

std::vector<OwnedRange> FlatParameters::owned_parts(const ParameterEntry& entry, int rank) const {
  std::vector<OwnedRange> parts;
  const FlatRange whole{.begin = entry.begin, .count = entry.count};
  if (!layout_.is_sharded()) {
    return {{.range = {.begin = 0, .count = entry.count}, .begin = entry.begin}};
  }
  const auto& owned = layout_.owned(rank);
  const auto after = std::partition_point(owned.begin(), owned.end(), [&](const OwnedRange& each) {
    return each.range.end() <= whole.begin;
  });
  for (auto each = after; each != owned.end() && each->range.begin < whole.end(); ++each) {
    const auto common = intersection(each->range, whole);
    parts.push_back({.range = {.begin = common.begin - whole.begin, .count = common.count},
                     .begin = each->begin + common.begin - each->range.begin});
  }
  return parts;
}

const ParameterEntry& FlatParameters::at(const std::string& name) const {
  const auto found = names_.find(name);
  TORCH_CHECK(found != names_.end(), "FlatParameters has no parameter '", name, "'");
  return entries_[found->second];
}

void FlatParameters::refresh_compute_copy() {
  const at::NoGradGuard no_grad;
  if (compute_.defined()) {
    compute_.copy_(master_);
  }
  if (on_refresh_) {
    on_refresh_();
  }
}

}  // namespace weft::train
