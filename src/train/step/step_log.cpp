#include "train/step/step_log.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/log.h"
#include "base/string_util.h"
#include "metrics/metric.h"
#include "train/log/tensorboard_content.h"
#include "train/run/device.h"

namespace weft::train {

void add_to_window(TrainState& state, const StepResult& result) {
  state.window_loss += result.loss;
  state.window_max_loss =
      std::max(state.window_max_loss.value_or(result.max_loss), result.max_loss);
  state.window_sums.resize(result.running_sums.size(), 0);
  std::transform(result.running_sums.begin(), result.running_sums.end(), state.window_sums.begin(),
                 state.window_sums.begin(), std::plus<>());
  for (const auto& [name, loss] : result.auxiliary_losses) {
    state.window_auxiliary_losses[name] += loss;
  }
  ++state.window_steps;
}

StepLog::StepLog(const RunDirectory& directory,
                 const TrainState& state,
                 const TrainOptions& options,
                 const RemainingTime& remaining,
                 ProcessGroup& group,
                 const at::Device& device)
    : group_(group),
      device_(device),
      histograms_every_(options.histograms_every),
      progress_line_(options.duration, remaining) {
  if (directory.is_writable()) {
    metrics_log_.emplace(directory.path(), state.progress.steps, state.pending_evaluation);
  }
}

void StepLog::write_start(const RunConfig& config, const RunComponents& components) {
  if (metrics_log_) {
    metrics_log_->write_values(0, start_values(config, components));
  }
}

void StepLog::write_histograms(int64_t steps,
                               const FlatParameters& flat_parameters,
                               const at::Tensor& gradient) {
  if (!metrics_log_ || !histograms_every_ || (steps + 1) % *histograms_every_ != 0) {
    return;
  }
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto& entry : flat_parameters.entries()) {
    tensors.emplace_back("weights/" + entry.name, entry.parameter);
    if (entry.is_trained) {
      tensors.emplace_back("gradients/" + entry.name, gradient.narrow(0, entry.begin, entry.count));
    }
  }
  metrics_log_->write_values(steps + 1, histogram_values(tensors));
}

void StepLog::write_metrics(int64_t step, const MetricsLog::Metrics& metrics) {
  if (metrics_log_) {
    metrics_log_->write(step, metrics);
  }
}

void StepLog::sync() {
  if (metrics_log_) {
    metrics_log_->sync();
  }
}

void StepLog::add_step(const StepResult& result, double lr, double seconds, double waited_seconds) {
  loss_ = result.loss;
  norm_ = result.norm;
  lr_ = lr;
  progress_line_.add_step(seconds);
  ++window_steps_;
  window_tokens_ += result.tokens;
  window_own_tokens_ += result.own_tokens;
  add_time(seconds, waited_seconds);
}

void StepLog::add_time(double seconds, double waited_seconds) {
  window_seconds_ += seconds;
  window_waited_seconds_ += waited_seconds;
  tokens_per_second_ = static_cast<double>(window_tokens_) / std::max(window_seconds_, 1e-9);
}

ProgressMetrics StepLog::progress_metrics() const {
  return {.loss = loss_, .learning_rate = lr_, .tokens_per_second = tokens_per_second_};
}

void StepLog::show(const TrainState& state) {
  progress_line_.show(state.progress, progress_metrics());
}

/// How fast each rank computes, and how long it waits for the others: a slow rank waits least.
void StepLog::add_rank_metrics(const TrainState& state, MetricsLog::Metrics& metrics) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  const auto rank = static_cast<std::size_t>(group_.rank());
  const double computed = std::max(window_seconds_ - window_waited_seconds_, 1e-9);
  const double steps = std::max(static_cast<double>(window_steps_), 1.0);
  std::vector<double> values(2 * ranks, 0);
  values[rank] = static_cast<double>(window_own_tokens_) / computed;
  values[ranks + rank] = 1e3 * window_waited_seconds_ / steps;
  values = group_.sum(std::move(values));
  if (state.window_max_loss) {
    metrics.emplace_back("train/max_loss", *state.window_max_loss);
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    const auto prefix = str_cat("throughput/rank_", i);
    metrics.emplace_back(prefix + "/tokens_per_second", values[i]);
    metrics.emplace_back(prefix + "/communication_ms_per_step", values[ranks + i]);
  }
}

void StepLog::write(TrainState& state, const objectives::Objective& objective) {
  MetricsLog::Metrics metrics;
  auto shown = progress_metrics();
  if (state.window_steps > 0) {
    shown.loss = state.window_loss / static_cast<double>(state.window_steps);
    metrics.emplace_back("train/loss", shown.loss);
  }
  for (const auto& [name, sum] : state.window_auxiliary_losses) {
    metrics.emplace_back("train/" + name, sum / static_cast<double>(state.window_steps));
  }
  if (!state.window_sums.empty()) {
    for (const auto& [name, value] : objective.metrics(state.window_sums)) {
      metrics.emplace_back("train/" + name, value);
    }
  }
  metrics.emplace_back("train/learning_rate", lr_);
  metrics.emplace_back("train/grad_norm", norm_);
  metrics.emplace_back("train/epoch", state.progress.epochs);
  metrics.emplace_back("train/tokens", static_cast<double>(state.progress.tokens));
  if (state.skipped > 0) {
    metrics.emplace_back("train/skipped_steps", static_cast<double>(state.skipped));
  }
  if (state.spikes > 0) {
    metrics.emplace_back("train/spikes", static_cast<double>(state.spikes));
  }
  if (state.rollbacks.count > 0) {
    metrics.emplace_back("train/rollbacks", static_cast<double>(state.rollbacks.count));
  }
  metrics.emplace_back("throughput/tokens_per_second", tokens_per_second_);
  metrics.emplace_back("throughput/peak_memory_bytes",
                       static_cast<double>(peak_device_memory(device_).value_or(peak_memory())));
  if (group_.size() > 1) {
    add_rank_metrics(state, metrics);
  }
  write_metrics(state.progress.steps, metrics);
  progress_line_.write_line(state.progress, shown);
  state.window_loss = 0;
  state.window_max_loss.reset();
  state.window_steps = 0;
  state.window_sums.clear();
  state.window_auxiliary_losses.clear();
  window_seconds_ = 0;
  window_waited_seconds_ = 0;
  window_steps_ = 0;
  window_tokens_ = 0;
  window_own_tokens_ = 0;
}

void StepLog::write_evaluation(const TrainingProgress& progress,
                               const Metrics& metrics,
                               const std::string& selection,
                               double seconds) {
  progress_line_.add_evaluation(progress, seconds);
  MetricsLog::Metrics tagged;
  std::vector<std::string> words;
  for (const auto& [name, value] : metrics) {
    tagged.emplace_back(evaluation_tag(name), value);
    const auto reason = metrics::undefined_reason(name, value);
    words.push_back(name + " " +
                    (reason.empty() ? metric_text(value) : "undefined (" + reason + ")"));
  }
  if (!selection.empty()) {
    words.push_back(selection);
  }
  write_metrics(progress.steps, tagged);
  log::info(str_cat("[evaluate] step ", progress.steps, "  ", epoch_text(progress.epochs), "  ",
                    join(words, "  ")));
}

}  // namespace weft::train
