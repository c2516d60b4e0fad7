#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "train/distributed/gradient_exchange.h"
#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Low-communication training (DiLoCo, arXiv:2311.08105): between exchanges every rank trains its
/// own weights with its own optimizer state. An exchange averages the changes of all ranks and
/// applies them to the weights of the last exchange by SGD with Nesterov momentum, as in
/// torch.optim.SGD. With lr 1 and momentum 0 the result is the mean of the ranks' weights.
class OuterOptimizer {
 public:
  /// Parameters must not be sharded; both references must outlive the optimizer.
  OuterOptimizer(const DilocoOptions& options,
                 FlatParameters& flat_parameters,
                 ProcessGroup& group);

  /// Whether ranks train by themselves in this step, counted from 1.
  bool is_local(int64_t step) const { return step > options_.start_step; }
  /// Before a step: begins a round with the current weights, which are the same on all ranks, after
  /// `start_step` and after an exchange. Returns `is_local`.
  bool begin_step(int64_t step);
  /// Whether a round ends after this step.
  bool is_due(int64_t step) const;
  /// Exchanges the weights; they are then the same on all ranks. A collective. Throws
  /// DistributedError.
  void update();

  /// Nesterov momentum: fp32, of the trained elements, the same on all ranks.
  const at::Tensor& momentum() const { return momentum_; }

 private:
  DilocoOptions options_;
  FlatParameters& flat_parameters_;
  ProcessGroup& group_;
  GradientExchange exchange_;
  at::Tensor weights_;  // at the beginning of the round
  at::Tensor momentum_;
  bool is_in_round_ = false;
};

}  // namespace weft::train
