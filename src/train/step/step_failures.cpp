#include "train/step/step_failures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/string_util.h"
#include "train/step/train_step.h"

namespace weft::train {

namespace {

void append(std::vector<double>& values, double value, int64_t most) {
  values.push_back(value);
  const auto too_many = static_cast<int64_t>(values.size()) - most;
  if (too_many > 0) {
    values.erase(values.begin(), values.begin() + too_many);
  }
}

// Recomputed at every step in the same order, so that a resumed run has the same bits.
std::optional<std::string> describe_outlier(const char* name,
                                            double value,
                                            const std::vector<double>& values,
                                            double sigma) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const auto x : values) {
    squares += (x - mean) * (x - mean);
  }
  const double standard_deviation = std::sqrt(squares / count);
  if (!(standard_deviation > 0) || value <= mean + sigma * standard_deviation) {
    return std::nullopt;
  }
  return str_cat(name, " ", value, " is ",
                 shortest_repr(std::round((value - mean) / standard_deviation * 10) / 10),
                 " standard deviations above the mean of the last ", values.size(), " steps, ",
                 mean);
}

}  // namespace

void record_step(LossHistory& loss_history, const StepResult& result, const SpikeOptions& options) {
  if (options.sigma) {
    append(loss_history.losses, result.loss, options.window);
    append(loss_history.norms, result.norm, options.window);
  }
}

std::optional<std::string> detect_spike(const LossHistory& loss_history,
                                        const StepResult& result,
                                        const SpikeOptions& options) {
  const auto count = static_cast<int64_t>(loss_history.losses.size());
  if (!options.sigma || 2 * count < options.window) {
    return std::nullopt;
  }
  const auto loss_outlier =
      describe_outlier("loss", result.loss, loss_history.losses, *options.sigma);
  return loss_outlier
             ? loss_outlier
             : describe_outlier("gradient norm", result.norm, loss_history.norms, *options.sigma);
}

void record_save_step(RollbackState& rollbacks, int64_t step, int64_t most) {
  auto& save_steps = rollbacks.save_steps;
  if (save_steps.empty() || save_steps.back() != step) {
    save_steps.push_back(step);
  }
  if (const auto too_many = static_cast<int64_t>(save_steps.size()) - most; too_many > 0) {
    save_steps.erase(save_steps.begin(), save_steps.begin() + too_many);
  }
}

std::vector<int64_t> RollbackRequested::candidates() const {
  const auto& rollbacks = kept_state_.rollbacks;
  std::vector<int64_t> steps(rollbacks.save_steps.rbegin(), rollbacks.save_steps.rend());
  if (rollbacks.count > 0 && rollbacks.to_step == steps_) {
    std::erase(steps, steps_);
  }
  return steps;
}

StateKeptAcrossRollback RollbackRequested::state_after(int64_t to_step,
                                                       const data::DataPosition& cursor,
                                                       RollbackSkip skip) const {
  auto result = kept_state_;
  auto range = bad_range_;
  switch (skip) {
    case RollbackSkip::kBatch:
      break;
    case RollbackSkip::kSinceCheckpoint:
      range.begin = cursor;
      break;
  }
  auto& save_steps = result.rollbacks.save_steps;
  std::erase_if(save_steps, [&](int64_t step) { return step > to_step; });
  if (save_steps.empty()) {
    save_steps.push_back(to_step);  // the initial state, which is saved before training continues
  }
  ++result.rollbacks.count;
  result.rollbacks.to_step = to_step;
  result.rollbacks.skipped_ranges.push_back(range);
  return result;
}

}  // namespace weft::train
