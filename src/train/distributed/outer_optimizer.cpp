#include "train/distributed/outer_optimizer.h"

#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace weft::train {

OuterOptimizer::OuterOptimizer(const DilocoOptions& options,
                               FlatParameters& flat_parameters,
                               ProcessGroup& group)
    : options_(options),
      flat_parameters_(flat_parameters),
      group_(group),
      exchange_(flat_parameters, group),
      weights_(flat_parameters.zeros_like_trained()),
      momentum_(flat_parameters.zeros_like_trained()) {}

bool OuterOptimizer::begin_step(int64_t step) {
  if (is_local(step) && !std::exchange(is_in_round_, true)) {
    const at::NoGradGuard no_grad;
    weights_.copy_(flat_parameters_.trained_master());
  }
  return is_local(step);
}

bool OuterOptimizer::is_due(int64_t step) const {
  return (step - options_.start_step) % static_cast<int64_t>(options_.every->amount) == 0;
}

void OuterOptimizer::update() {
  const at::NoGradGuard no_grad;
  auto gradient = weights_ - flat_parameters_.trained_master();
  exchange_.begin(gradient);
  gradient = exchange_.finish().div_(group_.size());
  momentum_.mul_(options_.momentum).add_(gradient);
  weights_.add_(gradient.add_(momentum_, options_.momentum), -options_.lr);
  flat_parameters_.trained_master().copy_(weights_);
  flat_parameters_.refresh_compute_copy();
  is_in_round_ = false;
}

}  // namespace weft::train
