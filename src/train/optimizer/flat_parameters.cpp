#include "train/optimizer/flat_parameters.h"

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

FlatParameters::FlatParameters(torch::nn::Module& module,
                               at::ScalarType compute_type,
                               DecayOn decay_on,
                               const LrScaleFunction& lr_scale_of,
                               Segmentation segmentation) {
  collect(module, decay_on, lr_scale_of);
  TORCH_CHECK(!entries_.empty(), "FlatParameters: the module has no parameters");
  const int64_t size = assign_offsets(segmentation);
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

void FlatParameters::collect(torch::nn::Module& module,
                             DecayOn decay_on,
                             const LrScaleFunction& lr_scale_of) {
  std::unordered_map<const void*, std::size_t> seen;  // tied weights are one tensor under two names
  for (const auto& item : module.named_parameters()) {
    const auto& parameter = item.value();
    const auto [found, is_new] = seen.try_emplace(parameter.unsafeGetTensorImpl(), entries_.size());
    names_[item.key()] = found->second;
    if (is_new) {
      entries_.push_back({.name = item.key(),
                          .parameter = parameter,
                          .begin = 0,
                          .count = parameter.numel(),
                          .is_trained = parameter.requires_grad(),
                          .decays = decay_on == DecayOn::kAll || parameter.dim() >= 2,
                          .lr_scale = lr_scale_of ? lr_scale_of(item.key()) : 1.0});
    }
  }
}

// Assigns an offset to every parameter; returns the total size.
int64_t FlatParameters::assign_offsets(Segmentation segmentation) {
  int64_t end = assign_group_offsets(true, true, 0, segmentation);
  end = assign_group_offsets(true, false, end, segmentation);
  end = assign_group_offsets(false, true, end, segmentation);
  return assign_group_offsets(false, false, end, segmentation);
}

// Assigns the offsets of one group of parameters, from `begin`; returns its end.
int64_t FlatParameters::assign_group_offsets(bool is_trained,
                                             bool decays,
                                             int64_t begin,
                                             Segmentation segmentation) {
  int64_t end = begin;
  for (auto& entry : entries_) {
    if (entry.is_trained != is_trained || entry.decays != decays) {
      continue;
    }
    const bool begins_segment =
        is_trained &&
        (segmentation == Segmentation::kPerParameter || segments_.empty() ||
         segments_.back().decays != decays || segments_.back().lr_scale != entry.lr_scale);
    if (begins_segment) {
      end = aligned(end, kernels::kUpdateBlock);
      segments_.push_back({.begin = end,
                           .count = 0,
                           .parameters = 0,
                           .decays = decays,
                           .lr_scale = entry.lr_scale});
    }
    entry.begin = end;
    end += aligned(entry.count);
    if (is_trained) {
      segments_.back().count = end - segments_.back().begin;
      segments_.back().parameters += entry.count;
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
