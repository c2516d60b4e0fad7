#pragma once

#include <cstdint>

#include "models/config/options.h"
#include "objectives/objective.h"
#include "train/cost/step_memory.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// What a training run will cost, worked out from its config alone.
struct Cost {
  int64_t parameters = 0;
  int64_t trained_parameters = 0;  // the others are frozen
  double forward_flops = 0;   // per token, multiplications and additions of the matrix products
  double training_flops = 0;  // per token: forward, and for each of its products two in backward
                              // where nothing is frozen; a teacher's forward
  double weight_bytes = 0;    // fp32 master, and the bf16 copy where there is one
  double copy_bytes = 0;      // of them the bf16 copy
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  double ema_bytes = 0;      // moving average of the weights
  double teacher_bytes = 0;  // weights of a model that is only asked
  double save_bytes = 0;     // the copy that is written in the background
  bool is_estimate = false;  // of families with two streams, or none of text: what a step makes is
                             // counted as if it were one stack
  StepMemory step = {};      // activations and what else a step makes, at the largest micro-batch
  double total_bytes() const {
    return weight_bytes + gradient_bytes + optimizer_bytes + ema_bytes + teacher_bytes +
           save_bytes + step.peak;
  }
};

/// How a step of a run goes, all but its rows.
StepShape step_shape(const models::ModelOptions& model,
                     const objectives::Objective& objective,
                     const TrainOptions& train,
                     bool is_bf16);

/// `length`: tokens of the sequences (attention grows with it); `is_bf16`: precision of the run. A
/// tensor stored for a fused parameter counts once; tied matrices count once.
Cost cost_of(const models::ModelOptions& model,
             const objectives::Objective& objective,
             const TrainOptions& train,
             int64_t length,
             bool is_bf16);

}  // namespace weft::train
