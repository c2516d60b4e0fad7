#include "train/stepper.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/stop.h"
#include "train/device.h"

namespace weft::train {

bool StepResult::is_finite() const { return std::isfinite(loss) && std::isfinite(norm); }

Stepper::Stepper(const objectives::Objective& objective,
                 models::Model& model,
                 Arena& arena,
                 Optimizer& optimizer,
                 const StepperOptions& options)
    : objective_(objective),
      model_(model),
      arena_(arena),
      optimizer_(optimizer),
      options_(options),
      gradient_(arena.gradient()) {
  if (options.measures_parts) {
    clock_.emplace([device = options.device] { synchronize(device); });
  }
}

StepResult Stepper::compute(const data::StepBatches& batches, int64_t step) {
  parts_ = {};
  elapsed_ms();
  std::vector<double> totals(objective_.terms().size(), 0);
  StepResult result;
  for (const auto& batch : batches.micro) {
    const auto counts = objective_.counts(batch);
    const auto weights = objective_.weights(batch);
    for (std::size_t term = 0; term < totals.size(); ++term) {
      totals[term] += weights[term];
      result.targets += counts[term];
    }
  }
  nn::Pass place;
  place.is_training = true;
  place.recomputes_layers = options_.recomputes_layers;
  place.seed = options_.seed;
  place.step = static_cast<uint64_t>(step);
  const bool is_cut = batches.micro.size() > 1;
  std::vector<at::Tensor> losses;
  for (const auto& batch : batches.micro) {
    if (!losses.empty()) {
      leave_if_stopped("computing a step");  // which a process that goes on computes again
    }
    losses.push_back(backward(batch, totals, place));
    if (is_cut && arena_.compute().defined()) {
      accumulate();
    }
    place.first_row += batch.tokens();
    place.first_sequence += batch.sequences();
  }
  gradient_ = is_cut && arena_.compute().defined() ? sum_ : arena_.gradient();
  for (const auto& loss : losses) {
    result.loss += loss.defined() ? loss.item<double>() : 0;
  }
  scan_ = kernels::scan(gradient_);
  result.norm = std::sqrt(scan_.squares);
  parts_.optimizer += elapsed_ms();
  result.has_targets = result.targets > 0;
  result.tokens = place.first_row;
  result.sequences = place.first_sequence;
  return result;
}

// The micro-batch's share of the step's loss; nothing where it has no targets.
at::Tensor Stepper::backward(const data::Batch& batch,
                             const std::vector<double>& totals,
                             nn::Pass place) {
  place.layout = objectives::stage(batch, options_.device).pass.layout;
  const auto sums = objective_.losses(model_, batch, place);
  at::Tensor loss;
  for (std::size_t term = 0; term < totals.size(); ++term) {
    if (totals[term] > 0 && sums[term].requires_grad()) {
      const auto share = sums[term] / totals[term];
      loss = loss.defined() ? loss + share : share;
    }
  }
  parts_.forward += elapsed_ms();
  add_kinds(parts_.forward_kinds);
  if (loss.defined()) {
    loss.backward();
    loss = loss.detach();
  }
  parts_.backward += elapsed_ms();
  add_kinds(parts_.backward_kinds);
  return loss;
}

// bf16 gradients of micro-batches are added up in fp32. Between steps the sum is zero.
void Stepper::accumulate() {
  if (!sum_.defined()) {
    sum_ = arena_.make_flat();
  }
  kernels::move_into(sum_, arena_.gradient());
  parts_.optimizer += elapsed_ms();
}

void Stepper::update(const StepResult& result, double lr) {
  elapsed_ms();
  // As torch's clip_grad_norm_ has it.
  const double scale =
      options_.clip_norm ? std::min(1.0, *options_.clip_norm / (result.norm + 1e-6)) : 1.0;
  optimizer_.update(gradient_, lr, scale, scan_.live);
  parts_.optimizer += elapsed_ms();
}

void Stepper::drop() {
  const at::NoGradGuard no_grad;
  gradient_.zero_();
}

std::string Stepper::first_bad_parameter() const {
  for (const auto& entry : arena_.entries()) {
    if (entry.is_trained && !Arena::part(gradient_, entry).isfinite().all().item<bool>()) {
      return entry.name;
    }
  }
  return "";
}

void Stepper::add_kinds(kernels::OperationClock::Milliseconds& kinds) {
  if (clock_) {
    const auto taken = clock_->take();
    std::transform(kinds.begin(), kinds.end(), taken.begin(), kinds.begin(), std::plus<>());
  }
}

double Stepper::elapsed_ms() {
  if (options_.measures_parts) {
    synchronize(options_.device);
  }
  const double now =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  const double elapsed = now - mark_;
  mark_ = now;
  return elapsed;
}

}  // namespace weft::train
