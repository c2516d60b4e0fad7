#include "train/cost/step_probe.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "batching/device_batch.h"
#include "kernels/flop_counter.h"
#include "train/cost/allocation_tracker.h"
#include "train/step/out_of_memory.h"

namespace weft::train {

namespace {

/// Sets all weights to zero: cost does not depend on them, and drawing them takes long.
models::Model& with_zero_weights(models::Model& model) {
  const at::NoGradGuard no_grad;
  for (auto& parameter : model.parameters()) {
    parameter.zero_();
  }
  return model;
}

/// Tokens of the largest micro-batch that the config allows.
int64_t largest_micro_batch(const TrainOptions& train, int64_t tokens_per_sequence) {
  const int64_t step =
      train.batch_tokens.value_or(train.batch_sequences.value_or(1) * tokens_per_sequence);
  return std::min(step, train.micro_batch_tokens.value_or(step));
}

ActivationFit line_through(const MicroBatchCost& smaller, const MicroBatchCost& larger) {
  ActivationFit fit;
  fit.per_token = static_cast<double>(larger.activation_bytes - smaller.activation_bytes) /
                  static_cast<double>(larger.tokens - smaller.tokens);
  fit.constant = static_cast<double>(larger.activation_bytes) -
                 fit.per_token * static_cast<double>(larger.tokens);
  return fit;
}

}  // namespace

StepProbe::StepProbe(const RunConfig& config,
                     models::Model& model,
                     Optimizer& optimizer,
                     const StepProbeOptions& options)
    : options_(options),
      model_(model),
      objective_(config.objective),
      example_(objective_->sample_example(model.options(), options.length)),
      has_streams_(config.data.streams.has_value()),
      flat_parameters_(
          with_zero_weights(model), options.precision, config.train.optimizer.decay_on),
      train_step_(*objective_,
                  model,
                  flat_parameters_,
                  optimizer,
                  {.clip_norm = std::nullopt,
                   .recomputes_layers =
                       config.train.gradient_checkpointing == ActivationCheckpointing::kLayers}) {
  tokens_per_sequence_ = batch_of(1).total_tokens();
}

data::Batch StepProbe::batch_of(int64_t sequences) const {
  data::Batch batch;
  auto example = example_;
  for (int64_t item = 0; item < sequences; ++item) {
    example.stream = has_streams_ ? item : -1;
    batch.add(item, example);
  }
  return batch;
}

int64_t StepProbe::forward_flops() {
  const at::NoGradGuard no_grad;
  const auto batch = batch_of(1);
  auto context = train_step_.context_of(0);
  batching::set_sequences(batch, at::kCPU, context);
  const kernels::FlopCounter counter;
  objective_->losses(model_, batch, context);
  return counter.flops();
}

MicroBatchCost StepProbe::run(int64_t sequences) {
  data::StepBatches batches;
  batches.micro_batches.push_back(batch_of(sequences));
  batches.ranks.push_back(0);
  const kernels::FlopCounter counter;
  const AllocationTracker memory(options_.max_activation_bytes);
  const auto before = memory.counts().live;
  train_step_.compute(batches, 0);
  train_step_.discard_gradients();
  return {.sequences = sequences,
          .tokens = sequences * tokens_per_sequence_,
          .flops = counter.flops(),
          .activation_bytes = memory.counts().peak - before};
}

StepCost measure_step(StepProbe& probe, const TrainOptions& train, double max_flops) {
  const int64_t per_sequence = probe.tokens_per_sequence();
  StepCost cost;
  cost.micro_batch_tokens = largest_micro_batch(train, per_sequence);
  cost.forward_flops =
      static_cast<double>(probe.forward_flops()) / static_cast<double>(per_sequence);
  auto smaller = probe.run(1);
  auto larger = probe.run(2);
  while (2 * larger.tokens <= cost.micro_batch_tokens &&
         2 * static_cast<double>(larger.flops) <= max_flops) {
    try {
      smaller = std::exchange(larger, probe.run(2 * larger.sequences));
    } catch (const MicroBatchOutOfMemory&) {
      break;
    }
  }
  cost.training_flops = static_cast<double>(larger.flops) / static_cast<double>(larger.tokens);
  cost.activations = line_through(smaller, larger);
  cost.measured_tokens = larger.tokens;
  return cost;
}

}  // namespace weft::train
