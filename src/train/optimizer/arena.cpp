#include "train/optimizer/arena.h"

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

Arena::Arena(nn::Module& module,
             at::ScalarType compute_type,
             DecayOn decay_on,
             const RateOf& rate_of,
             Segments segments) {
  collect(module, decay_on, rate_of);
  TORCH_CHECK(!entries_.empty(), "Arena: the module has no parameters");
  const int64_t size = place_all(segments);
  const int64_t trained = segments_.empty() ? 0 : segments_.back().begin + segments_.back().count;
  const at::NoGradGuard no_grad;
  const auto options = entries_.front().parameter.options().requires_grad(false);
  master_ = at::zeros({size}, options.dtype(at::kFloat));
  for (const auto& entry : entries_) {
    part(master_, entry).copy_(entry.parameter);
  }
  if (compute_type != at::kFloat) {
    compute_ = master_.to(compute_type);
  }
  gradient_ = at::zeros({trained}, options.dtype(compute_type));
  bind();
}

void Arena::collect(nn::Module& module, DecayOn decay_on, const RateOf& rate_of) {
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
                          .rate = rate_of ? rate_of(item.key()) : 1.0});
    }
  }
}

// Gives every parameter its place; returns the size of the whole.
int64_t Arena::place_all(Segments segments) {
  int64_t end = place(true, true, 0, segments);
  end = place(true, false, end, segments);
  end = place(false, true, end, segments);
  return place(false, false, end, segments);
}

// One kind of parameters, from `begin` on; returns their end.
int64_t Arena::place(bool is_trained, bool decays, int64_t begin, Segments segments) {
  int64_t end = begin;
  for (auto& entry : entries_) {
    if (entry.is_trained != is_trained || entry.decays != decays) {
      continue;
    }
    const bool begins_segment =
        is_trained && (segments == Segments::kOfOneParameter || segments_.empty() ||
                       segments_.back().decays != decays || segments_.back().rate != entry.rate);
    if (begins_segment) {
      end = aligned(end, kernels::kUpdateBlock);
      segments_.push_back(
          {.begin = end, .count = 0, .parameters = 0, .decays = decays, .rate = entry.rate});
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

void Arena::bind() {
  for (auto& entry : entries_) {
    entry.parameter.set_data(part(compute_.defined() ? compute_ : master_, entry));
    if (entry.is_trained) {
      entry.parameter.mutable_grad() = part(gradient_, entry);
    }
  }
}

int64_t Arena::parameters() const {
  return std::accumulate(entries_.begin(), entries_.end(), int64_t{0},
                         [](int64_t sum, const ArenaEntry& entry) { return sum + entry.count; });
}

int64_t Arena::trained_parameters() const {
  return std::accumulate(entries_.begin(), entries_.end(), int64_t{0},
                         [](int64_t sum, const ArenaEntry& entry) {
                           return entry.is_trained ? sum + entry.count : sum;
                         });
}

at::Tensor Arena::trained_master() const { return master_.narrow(0, 0, trained_size()); }

at::Tensor Arena::make_flat() const { return at::zeros_like(trained_master()); }

at::Tensor Arena::part(const at::Tensor& flat, const ArenaEntry& entry) {
  return flat.narrow(0, entry.begin, entry.count).view(entry.parameter.sizes());
}

const ArenaEntry& Arena::at(const std::string& name) const {
  const auto found = names_.find(name);
  TORCH_CHECK(found != names_.end(), "Arena has no parameter '", name, "'");
  return entries_[found->second];
}

void Arena::refresh_compute() {
  const at::NoGradGuard no_grad;
  if (compute_.defined()) {
    compute_.copy_(master_);
  }
}

}  // namespace weft::train
