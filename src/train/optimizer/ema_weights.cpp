#include "train/optimizer/ema_weights.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

EmaWeights::EmaWeights(const EmaOptions& options, FlatParameters& flat_parameters)
    : options_(options),
      flat_parameters_(flat_parameters),
      values_(flat_parameters.trained_master().clone()) {}

void EmaWeights::update(int64_t updates) {
  const at::NoGradGuard no_grad;
  const auto t = static_cast<double>(updates);
  const double decay =
      options_.warms_up ? std::min(*options_.decay, (1 + t) / (10 + t)) : *options_.decay;
  values_.lerp_(flat_parameters_.trained_master(), 1 - decay);
}

// Swaps weights and average block by block, to avoid a third flat tensor.
void EmaWeights::swap_weights() {
  constexpr int64_t kBlock = int64_t{1} << 20;
  const auto weights = flat_parameters_.trained_master();
  for (int64_t begin = 0; begin < values_.numel(); begin += kBlock) {
    const int64_t count = std::min(kBlock, values_.numel() - begin);
    auto from = weights.narrow(0, begin, count);
    auto to = values_.narrow(0, begin, count);
    const auto kept = from.clone();
    from.copy_(to);
    to.copy_(kept);
  }
}

EmaWeights::EmaScope::EmaScope(EmaWeights& ema) : ema_(ema) {
  const at::NoGradGuard no_grad;
  ema_.swap_weights();
  ema_.flat_parameters_.refresh_compute_copy();
}

EmaWeights::EmaScope::~EmaScope() {
  const at::NoGradGuard no_grad;
  ema_.swap_weights();
  ema_.flat_parameters_.refresh_compute_copy();
}

}  // namespace weft::train
