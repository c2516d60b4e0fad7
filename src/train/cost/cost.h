#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "train/cost/rank_plan.h"
#include "train/cost/step_probe.h"
#include "train/run/run_config.h"

namespace weft::train {

/// What a training run needs, before it is started. Memory in bytes: that of the tensors that stay
/// from step to step is exact, the cost of a step is measured on the CPU.
struct Cost {
  int64_t parameters = 0;
  int64_t trained_parameters = 0;  // the others are frozen
  double weight_bytes = 0;         // fp32 master, and the bf16 copy where there is one
  double copy_bytes = 0;           // the bf16 copy alone
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  double ema_bytes = 0;      // moving average of the weights
  double teacher_bytes = 0;  // weights of the teacher
  double save_bytes = 0;     // copy that is written in the background
  RankPlanSizes rank_plan_sizes;
  std::optional<ExpertPlanSizes> expert_plan_sizes;
  std::optional<StepCost> step;  // nullopt: not measured
  std::string why_not_measured;  // if there is no `step`

  /// All tensors; without activations if these were not measured.
  double total_bytes() const {
    return weight_bytes + gradient_bytes + optimizer_bytes + ema_bytes + teacher_bytes +
           save_bytes + (step ? step->activation_bytes() : 0);
  }
};

/// `config.model` must be complete, as options_without_data returns it; `length`: tokens of the
/// sequences. A step is measured if the model fits into the free memory.
Cost cost_of(const RunConfig& config, int64_t length, c10::ScalarType precision);

/// Memory of a tensor in bytes; 0 if it is undefined.
double bytes_of(const at::Tensor& tensor);

}  // namespace weft::train
