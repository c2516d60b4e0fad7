#include "train/step/stepper.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/stop.h"
#include "batching/hidden_states.h"
#include "batching/stage.h"
#include "train/run/device.h"
#include "train/step/out_of_memory.h"

namespace weft::train {

namespace {

// Squares of such gradients still fit the optimizer's moments, which are fp32.
constexpr double kLargestNorm = 1e18;

// Up to these no update comes near the end of fp32 in any number of steps: what a rate moves a
// weight by is bounded, and a decay that only shrinks weights never makes them grow.
constexpr double kTameRate = 1e3;
constexpr double kTameDecay = 2;

/// Adds a tensor of doubles to the numbers.
void add_to(std::vector<double>& numbers, const at::Tensor& more) {
  const auto values = more.cpu().contiguous();
  const auto* const value = values.const_data_ptr<double>();
  numbers.resize(static_cast<std::size_t>(values.numel()), 0);
  std::transform(numbers.begin(), numbers.end(), value, numbers.begin(), std::plus<>());
}

}  // namespace

bool StepResult::is_finite() const {
  return std::isfinite(loss) && std::isfinite(norm) && norm <= kLargestNorm;
}

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
  auto place = pass_of(step);
  const bool is_cut = batches.micro.size() > 1;
  std::vector<Part> parts;
  for (const auto& batch : batches.micro) {
    if (!parts.empty()) {
      leave_if_stopped("computing a step");  // which a process that goes on computes again
    }
    try {
      parts.push_back(backward(batch, totals, place));
      if (is_cut && arena_.compute().defined()) {
        accumulate();
      }
    } catch (const std::exception& error) {
      forget_all();
      if (const auto shortage = shortage_of(error)) {
        throw OutOfMemory(*shortage, batch.all_tokens(), batch.sequences());
      }
      throw;
    }
    batching::go_past(batch, place);
  }
  gradient_ = is_cut && arena_.compute().defined() ? sum_ : arena_.gradient();
  for (const auto& part : parts) {
    result.loss += part.loss.defined() ? part.loss.item<double>() : 0;
    if (part.tallies.defined()) {
      add_to(result.tallies, part.tallies);
    }
  }
  scan_ = kernels::scan(gradient_);
  result.norm = std::sqrt(scan_.squares);
  parts_.optimizer += elapsed_ms();
  result.has_targets = result.targets > 0;
  result.tokens = place.first_row + place.first_source_row;
  result.sequences = place.first_sequence;
  return result;
}

Stepper::Part Stepper::backward(const data::Batch& batch,
                                const std::vector<double>& totals,
                                nn::Pass place) {
  place.layout = batching::stage(batch, options_.device).pass.layout;
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
  return {.loss = loss, .tallies = sums.size() > totals.size() ? sums.back() : at::Tensor()};
}

// bf16 gradients of micro-batches are added up in fp32. Between steps the sum is zero.
void Stepper::accumulate() {
  if (!sum_.defined()) {
    sum_ = arena_.make_flat();
  }
  kernels::move_into(sum_, arena_.gradient());
  parts_.optimizer += elapsed_ms();
}

nn::Pass Stepper::pass_of(int64_t step) const {
  nn::Pass place;
  place.is_training = true;
  place.recomputes_layers = options_.recomputes_layers;
  place.seed = options_.seed;
  place.step = static_cast<uint64_t>(step);
  return place;
}

// A step that was broken off may have added up a part of its gradient.
void Stepper::forget_all() {
  const at::NoGradGuard no_grad;
  arena_.gradient().zero_();
  if (sum_.defined()) {
    sum_.zero_();
  }
}

bool Stepper::update(const StepResult& result, double lr) {
  elapsed_ms();
  // As torch's clip_grad_norm_ has it.
  const double scale =
      options_.clip_norm ? std::min(1.0, *options_.clip_norm / (result.norm + 1e-6)) : 1.0;
  const bool is_tame =
      std::all_of(arena_.segments().begin(), arena_.segments().end(), [&](const auto& segment) {
        const double rate = lr * segment.rate;
        return rate <= kTameRate && rate * optimizer_.weight_decay() <= kTameDecay;
      });
  bool is_done = true;
  if (is_tame) {
    optimizer_.update(gradient_, lr, scale, scan_.live);
  } else {
    is_done = update_on_trial(lr, scale);
  }
  parts_.optimizer += elapsed_ms();
  return is_done;
}

// At a rate that nobody means, an update may carry weights out of fp32 though its gradient is
// finite.
bool Stepper::update_on_trial(double lr, double scale) {
  const at::NoGradGuard no_grad;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept = {
      {arena_.trained_master(), arena_.trained_master().clone()}};
  for (const auto& [name, moment] : optimizer_.moments()) {
    kept.emplace_back(moment, moment.clone());
  }
  const int64_t updates = optimizer_.updates();
  optimizer_.update(gradient_, lr, scale, scan_.live);
  const bool is_fit = std::all_of(kept.begin(), kept.end(), [](const auto& item) {
    return std::isfinite(kernels::scan(item.first).squares);
  });
  if (!is_fit) {
    for (const auto& [tensor, before] : kept) {
      tensor.copy_(before);
    }
    arena_.refresh_compute();
    optimizer_.resume(updates);
  }
  return is_fit;
}

void Stepper::drop() {
  const at::NoGradGuard no_grad;
  gradient_.zero_();
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
