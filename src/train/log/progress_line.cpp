#include "train/log/progress_line.h"

#include <cmath>
#include <cstdio>

#include "base/log.h"
#include "base/string_util.h"

namespace weft::train {

namespace {

constexpr std::chrono::duration<double> kBetweenStatus{0.1};

std::string fixed(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

}  // namespace

std::string epoch_text(double epochs) { return "epoch " + fixed("%.2f", epochs); }

std::string progress_text(const TrainingProgress& progress,
                          const ProgressMetrics& metrics,
                          const config::Duration& duration,
                          double eta) {
  const double completed = completed_fraction(progress, duration);
  const bool is_exact = duration.unit == config::DurationUnit::kSteps;
  const bool has_epochs = duration.unit == config::DurationUnit::kEpochs;
  const auto steps = completed > 0 ? static_cast<double>(progress.steps) / completed : 0;
  return str_cat("step ", progress.steps, is_exact ? "/" : "/~",
                 std::llround(is_exact ? duration.amount : steps), "  ",
                 epoch_text(progress.epochs),
                 has_epochs ? "/" + shortest_repr(duration.amount) : "", "  loss ",
                 fixed("%.4f", metrics.loss), "  lr ", fixed("%.2e", metrics.learning_rate), "  ",
                 with_commas(std::llround(metrics.tokens_per_second)), " tokens/s  ETA ",
                 format_duration(eta));
}

ProgressLine::ProgressLine(const config::Duration& duration, const RemainingTime& remaining)
    : duration_(duration), remaining_(remaining) {}

ProgressLine::~ProgressLine() { log::set_progress_line(""); }

std::string ProgressLine::line(const TrainingProgress& progress,
                               const ProgressMetrics& metrics) const {
  return progress_text(progress, metrics, duration_, remaining_.seconds(progress));
}

void ProgressLine::show(const TrainingProgress& progress, const ProgressMetrics& metrics) {
  if (!has_written_) {
    write_line(progress, metrics);
  }
  const auto now = std::chrono::steady_clock::now();
  if (log::is_terminal() && now - last_status_time_ >= kBetweenStatus) {
    last_status_time_ = now;
    log::set_progress_line(line(progress, metrics));
  }
}

void ProgressLine::write_line(const TrainingProgress& progress, const ProgressMetrics& metrics) {
  has_written_ = true;
  log::info("[train] " + line(progress, metrics));
}

}  // namespace weft::train
