#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include <c10/core/ScalarType.h>

#include "data/batch.h"
#include "models/model.h"
#include "objectives/objective.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/run/run_config.h"
#include "train/step/train_step.h"

namespace weft::train {

/// What one micro-batch costs.
struct MicroBatchCost {
  int64_t sequences = 0;
  int64_t tokens = 0;
  int64_t flops = 0;             // of the forward and backward pass
  int64_t activation_bytes = 0;  // greatest memory of tensors besides weights and gradients
};

struct StepProbeOptions {
  int64_t length = 0;  // tokens of each sequence; images have a size of their own
  c10::ScalarType precision = c10::ScalarType::Float;
  int64_t max_activation_bytes = std::numeric_limits<int64_t>::max();
};

/// Measures the forward and backward pass of a run on the CPU, on made-up examples. Weights are not
/// updated, and nothing is written.
class StepProbe {
 public:
  /// `model`: as made by make_untrained_model; the probe overwrites its weights. `optimizer` is not
  /// used, but a TrainStep needs one. All references must outlive the probe.
  StepProbe(const RunConfig& config,
            models::Model& model,
            Optimizer& optimizer,
            const StepProbeOptions& options);

  /// Tokens of one sequence, with those of its source.
  int64_t tokens_per_sequence() const { return tokens_per_sequence_; }
  /// Operations of the forward pass of one sequence, with teacher and generator.
  int64_t forward_flops();
  /// Runs a micro-batch of so many sequences. Throws MicroBatchOutOfMemory if it needs more than
  /// max_activation_bytes.
  MicroBatchCost run(int64_t sequences);

 private:
  data::Batch batch_of(int64_t sequences) const;

  StepProbeOptions options_;
  models::Model& model_;
  std::shared_ptr<objectives::Objective> objective_;
  data::Example example_;
  bool has_streams_ = false;
  int64_t tokens_per_sequence_ = 0;
  FlatParameters flat_parameters_;
  TrainStep train_step_;
};

/// Activation memory as a linear function of the tokens in a micro-batch.
struct ActivationFit {
  double constant = 0;
  double per_token = 0;
  double bytes(double tokens) const { return constant + per_token * tokens; }
};

/// Measured cost of the steps of a run.
struct StepCost {
  double forward_flops = 0;   // per token, with teacher and generator
  double training_flops = 0;  // per token, with the backward pass
  ActivationFit activations;
  int64_t micro_batch_tokens = 0;  // of the largest micro-batch that the config allows
  int64_t measured_tokens = 0;     // of the largest micro-batch that was run
  double activation_bytes() const {
    return activations.bytes(static_cast<double>(micro_batch_tokens));
  }
};

/// Runs micro-batches of 1, 2, 4, ... sequences, until the next would need more than `max_flops` or
/// too much memory, or would be larger than the config's. The line goes through the last two: some
/// buffers stop growing at a certain size. Throws MicroBatchOutOfMemory if two sequences do not
/// fit.
StepCost measure_step(StepProbe& probe, const TrainOptions& train, double max_flops);

}  // namespace weft::train
