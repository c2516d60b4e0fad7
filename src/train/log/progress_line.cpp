#include "train/log/progress_line.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/log.h"
#include "base/string_util.h"

namespace weft::train {

namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kBetweenStatus{0.1};
constexpr Seconds kBetweenLines{5};
constexpr Seconds kBetweenLinesOnTerminal{60};

double share(const TrainingProgress& progress, const config::Duration& duration) {
  return std::min(1.0, progress.in(duration.unit) / duration.amount);
}

std::string fixed(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

}  // namespace

ProgressLine::ProgressLine(const TrainingProgress& begin, const config::Duration& duration)
    : share_at_begin_(share(begin, duration)), duration_(duration), begin_(SteadyClock::now()) {}

ProgressLine::~ProgressLine() { log::set_progress_line(""); }

std::string ProgressLine::line(const TrainingProgress& progress,
                               const ProgressMetrics& metrics) const {
  const double done = share(progress, duration_);
  const double spent = Seconds(SteadyClock::now() - begin_).count();
  const double left = spent * (1 - done) / std::max(done - share_at_begin_, 1e-9);
  const bool is_exact = duration_.unit == config::DurationUnit::kSteps;
  const double steps =
      is_exact ? duration_.amount : static_cast<double>(progress.steps) / std::max(done, 1e-9);
  return str_cat("step ", progress.steps, is_exact ? "/" : "/~", std::llround(steps), "  loss ",
                 fixed("%.4f", metrics.loss), "  lr ", fixed("%.2e", metrics.learning_rate), "  ",
                 with_commas(std::llround(metrics.tokens_per_second)), " tokens/s  ",
                 format_duration(left), " left");
}

void ProgressLine::show(const TrainingProgress& progress, const ProgressMetrics& metrics) {
  const auto now = SteadyClock::now();
  if (log::is_terminal() && now - last_status_time_ >= kBetweenStatus) {
    last_status_time_ = now;
    log::set_progress_line(line(progress, metrics));
  }
}

void ProgressLine::write_line(const TrainingProgress& progress,
                              const ProgressMetrics& metrics,
                              bool is_last) {
  const auto now = SteadyClock::now();
  const auto pause = log::is_terminal() ? kBetweenLinesOnTerminal : kBetweenLines;
  if (is_last || now - last_line_time_ >= pause) {
    last_line_time_ = now;
    log::info("[train] " + line(progress, metrics));
  }
}

}  // namespace weft::train
