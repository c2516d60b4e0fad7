#include "train/step/bad_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "train/step/stepper.h"

namespace weft::train {

namespace {

void push(std::vector<double>& values, double value, int64_t most) {
  values.push_back(value);
  const auto too_many = static_cast<int64_t>(values.size()) - most;
  if (too_many > 0) {
    values.erase(values.begin(), values.begin() + too_many);
  }
}

// Summed anew at every step, in the same order: a run that goes on has the same bits.
std::optional<std::string> excess(const char* name,
                                  double value,
                                  const std::vector<double>& values,
                                  double sigma) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const auto x : values) {
    squares += (x - mean) * (x - mean);
  }
  const double deviation = std::sqrt(squares / count);
  if (!(deviation > 0) || value <= mean + sigma * deviation) {
    return std::nullopt;
  }
  return text(name, " ", value, " is ", shortest(std::round((value - mean) / deviation * 10) / 10),
              " sigma above the mean of the last ", values.size(), " steps, ", mean);
}

}  // namespace

void remember(Recent& recent, const StepResult& result, const SpikeOptions& options) {
  if (options.sigma) {
    push(recent.losses, result.loss, options.window);
    push(recent.norms, result.norm, options.window);
  }
}

std::optional<std::string> spike_in(const Recent& recent,
                                    const StepResult& result,
                                    const SpikeOptions& options) {
  const auto seen = static_cast<int64_t>(recent.losses.size());
  if (!options.sigma || 2 * seen < options.window) {
    return std::nullopt;
  }
  const auto of_loss = excess("loss", result.loss, recent.losses, *options.sigma);
  return of_loss ? of_loss : excess("gradient norm", result.norm, recent.norms, *options.sigma);
}

void note_due(Rollbacks& rollbacks, int64_t step, int64_t most) {
  auto& due = rollbacks.due;
  if (due.empty() || due.back() != step) {
    due.push_back(step);
  }
  if (const auto too_many = static_cast<int64_t>(due.size()) - most; too_many > 0) {
    due.erase(due.begin(), due.begin() + too_many);
  }
}

std::vector<int64_t> RollBack::candidates() const {
  const auto& rollbacks = outlasting_.rollbacks;
  std::vector<int64_t> steps(rollbacks.due.rbegin(), rollbacks.due.rend());
  if (rollbacks.count > 0 && rollbacks.to_step == steps_) {
    std::erase(steps, steps_);
  }
  return steps;
}

Outlasting RollBack::after(int64_t to_step,
                           const data::Cursor& cursor,
                           LeavesOut leaves_out) const {
  auto result = outlasting_;
  auto range = bad_;
  switch (leaves_out) {
    case LeavesOut::kBatch:
      break;
    case LeavesOut::kSinceCheckpoint:
      range.begin = cursor;
      break;
  }
  auto& due = result.rollbacks.due;
  std::erase_if(due, [&](int64_t step) { return step > to_step; });
  if (due.empty()) {
    due.push_back(to_step);  // the beginning, which is saved before the run goes on
  }
  ++result.rollbacks.count;
  result.rollbacks.to_step = to_step;
  result.rollbacks.left_out.push_back(range);
  return result;
}

}  // namespace weft::train
