#include "train/log/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/log.h"
#include "base/text.h"

namespace weft::train {

namespace {

using Clocked = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kBetweenStatus{0.1};
constexpr Seconds kBetweenLines{5};
constexpr Seconds kBetweenLinesOnTerminal{60};

double share(const Clock& clock, const config::Duration& duration) {
  return std::min(1.0, clock.in(duration.unit) / duration.amount);
}

std::string fixed(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

}  // namespace

Progress::Progress(const Clock& begin, const config::Duration& duration)
    : share_at_begin_(share(begin, duration)), duration_(duration), begin_(Clocked::now()) {}

Progress::~Progress() { log::set_status(""); }

std::string Progress::line(const Clock& clock, const ProgressFigures& figures) const {
  const double done = share(clock, duration_);
  const double spent = Seconds(Clocked::now() - begin_).count();
  const double left = spent * (1 - done) / std::max(done - share_at_begin_, 1e-9);
  const bool is_exact = duration_.unit == config::DurationUnit::kSteps;
  const double steps =
      is_exact ? duration_.amount : static_cast<double>(clock.steps) / std::max(done, 1e-9);
  return text("step ", clock.steps, is_exact ? "/" : "/~", std::llround(steps), "  loss ",
              fixed("%.4f", figures.loss), "  rate ", fixed("%.2e", figures.learning_rate), "  ",
              with_commas(std::llround(figures.tokens_per_second)), " tokens/s  ", time_span(left),
              " left");
}

void Progress::show(const Clock& clock, const ProgressFigures& figures) {
  const auto now = Clocked::now();
  if (log::is_terminal() && now - shown_ >= kBetweenStatus) {
    shown_ = now;
    log::set_status(line(clock, figures));
  }
}

void Progress::note(const Clock& clock, const ProgressFigures& figures, bool is_last) {
  const auto now = Clocked::now();
  const auto pause = log::is_terminal() ? kBetweenLinesOnTerminal : kBetweenLines;
  if (is_last || now - noted_ >= pause) {
    noted_ = now;
    log::info("[train] " + line(clock, figures));
  }
}

}  // namespace weft::train
