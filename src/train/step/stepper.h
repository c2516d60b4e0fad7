#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "data/loader.h"
#include "kernels/operation_clock.h"
#include "kernels/optimizer.h"
#include "models/model.h"
#include "objectives/objective.h"
#include "train/optimizer/arena.h"
#include "train/optimizer/optimizer.h"

namespace weft::train {

struct StepperOptions {
  uint64_t seed = 1;
  std::optional<double> clip_norm;
  c10::Device device = c10::DeviceType::CPU;
  bool recomputes_layers = false;  // train.checkpoint_activations
  bool measures_parts = false;     // waits for the device between the parts
};

/// Milliseconds of a step's parts; by kind of operation only where parts are measured.
struct StepParts {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  kernels::OperationClock::Milliseconds forward_kinds{};
  kernels::OperationClock::Milliseconds backward_kinds{};
};

/// What a step's batches gave.
struct StepResult {
  double loss = 0;
  double norm = 0;  // of the gradient, before clipping
  bool has_targets = false;
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t targets = 0;
  std::vector<double> tallies = {};  // of the objective

  bool is_finite() const;
};

/// The arithmetic of one step: the loss is the sum over all targets of the step by their weight (as
/// a rule their count), however it is cut into micro-batches.
class Stepper {
 public:
  /// All three must outlive the stepper.
  Stepper(const objectives::Objective& objective,
          models::Model& model,
          Arena& arena,
          Optimizer& optimizer,
          const StepperOptions& options);

  /// Forward and backward over the step's micro-batches. The gradient stays until `update` or
  /// `drop`. Throws Stopped between two micro-batches, OutOfMemory where one does not fit; no
  /// gradient is left then.
  StepResult compute(const data::StepBatches& batches, int64_t step);
  /// Changes the weights by the gradient, shortened to clip_norm, and consumes it. False where a
  /// weight would leave the range of fp32: all stays as it was.
  bool update(const StepResult& result, double lr);
  /// Forgets the gradient.
  void drop();

  const at::Tensor& gradient() const { return gradient_; }
  /// What the first row of that step's first micro-batch is computed with.
  nn::Pass pass_of(int64_t step) const;
  const StepParts& parts() const { return parts_; }

 private:
  /// What a micro-batch gave.
  struct Part {
    at::Tensor loss;     // its share of the step's; undefined where it has no targets
    at::Tensor tallies;  // of the objective; undefined where it has none
  };
  Part backward(const data::Batch& batch, const std::vector<double>& totals, nn::Pass place);
  void accumulate();
  void forget_all();
  bool update_on_trial(double lr, double scale);
  double elapsed_ms();
  void add_kinds(kernels::OperationClock::Milliseconds& kinds);

  const objectives::Objective& objective_;
  models::Model& model_;
  Arena& arena_;
  Optimizer& optimizer_;
  StepperOptions options_;
  at::Tensor sum_;  // fp32, the gradients of several bf16 micro-batches; made when first needed
  at::Tensor gradient_;  // of the step: the arena's or sum_
  kernels::Scan scan_;   // of gradient_
  StepParts parts_;
  std::optional<kernels::OperationClock> clock_;  // where parts are measured
  double mark_ = 0;
};

}  // namespace weft::train
