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

}  // namespace

at::Tensor SegmentParameter::view(const at::Tensor& segment_tensor) const {
  return segment_tensor.narrow(0, begin, count).view(shape);
}

FlatParameters::FlatParameters(torch::nn::Module& module,
                               at::ScalarType compute_type,
                               const ParameterSettingsFunction& settings_of) {
  collect(module, settings_of);
  TORCH_CHECK(!entries_.empty(), "FlatParameters: the module has no parameters");
  const int64_t size = assign_offsets();
  const int64_t trained = segments_.empty() ? 0 : segments_.back().begin + segments_.back().count;
  const at::NoGradGuard no_grad;
  const auto options = entries_.front().parameter.options().requires_grad(false);
  master_ = at::zeros({size}, options.dtype(at::kFloat));
  for (const auto& entry : entries_) {
    parameter_view(master_, entry).copy_(entry.parameter);
  }
  if (compute_type != at::kFloat) {
    compute_ = master_.to(compute_type);
  }
  gradient_ = at::zeros({trained}, options.dtype(compute_type));
  bind();
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
                             const ParameterSettingsFunction& settings_of) {
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
                          .settings = settings_of(item.key(), parameter)});
    }
  }
}

// Assigns an offset to every parameter; returns the total size.
int64_t FlatParameters::assign_offsets() {
  std::size_t groups = 0;
  for (const auto& entry : entries_) {
    groups = std::max(groups, entry.settings.group + 1);
  }
  int64_t end = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    end = append_trained(group, true, end);
    end = append_trained(group, false, end);
  }
  end = append_frozen(true, end);
  return append_frozen(false, end);
}

// Assigns offsets and segments to the trained parameters of one group that decay, or to those that
// do not; returns their end.
int64_t FlatParameters::append_trained(std::size_t group, bool decays, int64_t begin) {
  int64_t end = begin;
  for (auto& entry : entries_) {
    const auto& settings = entry.settings;
    if (!entry.is_trained || settings.group != group || settings.decays != decays) {
      continue;
    }
    if (settings.has_own_segment || segments_.empty() || segments_.back().settings != settings) {
      end = aligned(end, kernels::kUpdateBlock);
      segments_.push_back({.begin = end, .settings = settings});
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
  }
  return end;
}

// The same for the frozen ones, which have no segments.
int64_t FlatParameters::append_frozen(bool decays, int64_t begin) {
  int64_t end = begin;
  for (auto& entry : entries_) {
    if (!entry.is_trained && entry.settings.decays == decays) {
      entry.begin = end;
      end += aligned(entry.count);
    }
  }
  return end;
}

void FlatParameters::bind() {
  for (auto& entry : entries_) {
    entry.parameter.set_data(parameter_view(compute_.defined() ? compute_ : master_, entry));
    if (entry.is_trained) {
      entry.parameter.mutable_grad() = parameter_view(gradient_, entry);
    }
  }
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

at::Tensor FlatParameters::trained_master() const { return master_.narrow(0, 0, trained_size()); }

at::Tensor FlatParameters::zeros_like_trained() const { return at::zeros_like(trained_master()); }

at::Tensor FlatParameters::parameter_view(const at::Tensor& flat, const ParameterEntry& entry) {
  return flat.narrow(0, entry.begin, entry.count).view(entry.parameter.sizes());
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
}

}  // namespace weft::train
