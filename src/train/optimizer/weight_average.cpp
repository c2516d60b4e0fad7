#include "train/optimizer/weight_average.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

WeightAverage::WeightAverage(const AverageOptions& options, Arena& arena)
    : options_(options), arena_(arena), values_(arena.trained_master().clone()) {}

void WeightAverage::add(int64_t updates) {
  const at::NoGradGuard no_grad;
  const auto t = static_cast<double>(updates);
  const double decay =
      options_.warms_up ? std::min(*options_.decay, (1 + t) / (10 + t)) : *options_.decay;
  values_.lerp_(arena_.trained_master(), 1 - decay);
}

// Weights and average change places, a block at a time: a third flat tensor would be as large.
void WeightAverage::exchange() {
  constexpr int64_t kBlock = int64_t{1} << 20;
  const auto weights = arena_.trained_master();
  for (int64_t begin = 0; begin < values_.numel(); begin += kBlock) {
    const int64_t count = std::min(kBlock, values_.numel() - begin);
    auto from = weights.narrow(0, begin, count);
    auto to = values_.narrow(0, begin, count);
    const auto kept = from.clone();
    from.copy_(to);
    to.copy_(kept);
  }
}

WeightAverage::InUse::InUse(WeightAverage& average) : average_(average) {
  const at::NoGradGuard no_grad;
  average_.exchange();
  average_.arena_.refresh_compute();
}

WeightAverage::InUse::~InUse() {
  const at::NoGradGuard no_grad;
  average_.exchange();
  average_.arena_.refresh_compute();
}

}  // namespace weft::train
