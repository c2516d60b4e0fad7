#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "data/data_loader.h"
#include "kernels/operation_profiler.h"
#include "kernels/optimizer.h"
#include "models/model.h"
#include "nn/auxiliary_losses.h"
#include "nn/carried_state.h"
#include "objectives/objective.h"
#include "train/distributed/block_exchange.h"
#include "train/distributed/expert_parallel.h"
#include "train/distributed/gradient_exchange.h"
#include "train/distributed/process_group.h"
#include "train/distributed/step_exchange.h"
#include "train/distributed/weight_exchange.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/run/device.h"
#include "train/step/step_totals.h"

namespace weft::train {

struct TrainStepOptions {
  uint64_t seed = 1;
  std::optional<double> clip_norm;
  c10::Device device = c10::DeviceType::CPU;
  bool recomputes_layers = false;  // train.gradient_checkpointing
  bool measures_time = false;      // synchronizes the device between the parts
  ProcessGroup* group = &single_process();
  /// Whether ranks send the gradients of a layer while the backward pass continues with the layer
  /// before. On one machine that takes time from the computation.
  bool overlaps = false;
};

/// Milliseconds of the parts of a step; by operation only if time is measured.
struct StepTimings {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  kernels::OperationProfiler::Milliseconds forward_by_operation{};
  kernels::OperationProfiler::Milliseconds backward_by_operation{};
};

/// Results of a step's forward and backward pass.
struct StepResult {
  double loss = 0;
  double norm = 0;      // of the gradient, before clipping; the highest of the ranks
  double max_loss = 0;  // of a micro-batch, without auxiliary losses
  int64_t tokens = 0;
  int64_t own_tokens = 0;  // those that this rank computed
  int64_t sequences = 0;
  int64_t targets = 0;
  std::vector<double> running_sums = {};                // of the objective
  std::map<std::string, double> auxiliary_losses = {};  // by name, before their weights

  bool has_targets() const { return targets > 0; }
  bool is_finite() const;
};

/// Forward, backward and update of one step. The loss is the sum over all targets divided by their
/// weight (usually their count), however the step is split into micro-batches and ranks.
class TrainStep {
 public:
  /// All references must outlive the train step.
  TrainStep(const objectives::Objective& objective,
            models::Model& model,
            FlatParameters& flat_parameters,
            Optimizer& optimizer,
            const TrainStepOptions& options);

  /// Runs forward and backward over this rank's micro-batches and adds up the gradients of all
  /// ranks. `is_local`: each makes an update of its own, with its part of the step as its batch.
  /// The gradient stays until `update` or `discard_gradients`. Throws Stopped between two
  /// micro-batches, MicroBatchOutOfMemory if one does not fit, on all ranks alike; no gradient is
  /// left then. Throws DistributedError.
  StepResult compute(const data::StepBatches& batches, int64_t step, bool is_local = false);
  /// Updates the weights with the gradient, clipped to clip_norm, and consumes it. Returns false,
  /// with everything unchanged, if a weight would overflow fp32.
  bool update(double lr);
  /// Discards the gradient.
  void discard_gradients();

  /// Of the elements that this rank owns; all unless parameters are sharded.
  const at::Tensor& gradient() const { return gradient_; }
  /// Context of the first row of that step's first micro-batch.
  nn::ForwardContext context_of(int64_t step) const;
  const StepTimings& timings() const { return timings_; }
  /// Whether to wait for the device between the parts if time is measured; the default. Without it
  /// the times of the parts on a GPU are those of their launch.
  void set_synchronizes(bool value) { synchronizes_ = value; }
  ProcessGroup& group() const { return *options_.group; }
  /// State that layers carry from step to step; `update` commits that of the step.
  nn::CarriedState& carried_state() { return carried_state_; }
  const nn::CarriedState& carried_state() const { return carried_state_; }

 private:
  void measure_norm();
  /// Results of a micro-batch.
  struct MicroBatchLoss {
    at::Tensor loss;  // its part of the step's loss; undefined without targets
    std::vector<std::pair<at::Tensor, double>> terms;  // sum of the losses and of their weights
    at::Tensor running_sums;                           // of the objective; undefined if it has none
    std::vector<std::pair<std::string, at::Tensor>> auxiliary_losses;
  };
  MicroBatchLoss backward(const Share& share,
                          const data::Batch& batch,
                          const StepTotals& totals,
                          nn::ForwardContext context);
  static MicroBatchLosses numbers_of(int64_t index, double part, const MicroBatchLoss& micro_batch);
  StepOutcome compute_shares(const std::vector<Share>& shares,
                             const data::StepBatches& batches,
                             const StepTotals& totals,
                             nn::ForwardContext& context);
  void compute_micro_batch(const Share& share,
                           bool is_last,
                           const data::Batch& batch,
                           const StepTotals& totals,
                           const nn::ForwardContext& context,
                           StepOutcome& outcome,
                           std::vector<MicroBatchLoss>& losses);
  /// Whether ranks exchange gradients after each micro-batch.
  bool shards_gradients() const { return !flat_parameters_.gradient().defined(); }
  void begin_exchange(bool is_last);
  void reduce_gradients();
  void add_to_sum(const at::Tensor& gradient);
  void throw_if_incomplete(const StepOutcome& outcome);
  void allocate_sum();
  void zero_grad();
  bool try_update(double lr, double scale);
  double elapsed_ms();
  void end_part() const {
    if (options_.measures_time && synchronizes_) {
      synchronize(options_.device);
    }
  }
  void add_operation_times(kernels::OperationProfiler::Milliseconds& times);

  const objectives::Objective& objective_;
  models::Model& model_;
  FlatParameters& flat_parameters_;
  Optimizer& optimizer_;
  TrainStepOptions options_;
  GradientExchange gradients_;
  WeightExchange weights_;
  std::optional<BlockExchange> blocks_;    // with several ranks
  std::optional<ExpertParallel> experts_;  // if each rank has some of the experts
  bool is_local_ = false;
  bool uses_sum_ =
      false;             // gradients of the step's micro-batches are added up in sum_, not in place
  at::Tensor sum_;       // allocated on first use; zero between steps
  at::Tensor gradient_;  // of the step
  kernels::SquaredNorm squared_norm_;  // of gradient_
  nn::CarriedState carried_state_;
  StepTimings timings_;
  bool synchronizes_ = true;
  std::optional<kernels::OperationProfiler> clock_;  // only if time is measured
  double last_time_ms_ = 0;
};

}  // namespace weft::train
