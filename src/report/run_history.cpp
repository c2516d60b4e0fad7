#include "report/run_history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "train/log/metrics_log.h"
#include "train/run/run_record.h"

namespace weft::report {

namespace {

using formats::Json;

struct Counter {
  const char* tag;
  const char* kind;
  const char* noun;
};
constexpr Counter kCounters[] = {{"train/skipped_steps", "skipped", "skipped step"},
                                 {"train/spikes", "spike", "loss spike"},
                                 {"train/rollbacks", "rollback", "rollback"}};

/// The numbers of one line of metrics.jsonl, by name. Without a tree: a run may have millions of
/// lines.
class MetricsLine : public nlohmann::json_sax<Json> {
 public:
  /// Whether the text is an object.
  bool read(std::string_view text) {
    numbers_.clear();
    depth_ = 0;
    return text.starts_with('{') && Json::sax_parse(text, this);
  }
  const std::vector<std::pair<std::string, double>>& numbers() const { return numbers_; }
  /// NaN if the line does not have it.
  double at(std::string_view name) const {
    const auto found = std::ranges::find(numbers_, name, &std::pair<std::string, double>::first);
    return found == numbers_.end() ? std::nan("") : found->second;
  }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(int64_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(uint64_t value) override { return add(static_cast<double>(value)); }
  bool number_float(double value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(Json::binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(); }
  bool end_array() override { return close(); }
  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t /*position*/,
                   const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool open() {
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  bool add(double value) {
    if (depth_ == 1) {
      numbers_.emplace_back(key_, value);
    }
    return true;
  }

  std::vector<std::pair<std::string, double>> numbers_;
  std::string key_;
  int64_t depth_ = 0;
};

constexpr double kMostSteps = 1e15;  // that a double counts exactly

}  // namespace

AxisValues RunHistory::axes_at(const std::vector<int64_t>& steps) const {
  AxisValues axes;
  axes["step"].assign(steps.begin(), steps.end());
  if (logged_steps_.empty()) {
    return axes;
  }
  for (const int64_t step : steps) {
    const auto after = std::ranges::upper_bound(logged_steps_, step) - logged_steps_.begin();
    const auto line = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - 1, 0));
    axes["tokens"].push_back(tokens_[line]);
    axes["time"].push_back(seconds_[line]);
  }
  return axes;
}

std::map<std::string, double> RunHistory::evaluation(std::optional<int64_t> step) const {
  std::map<std::string, double> values;
  int64_t last = -1;  // step that was evaluated
  bool has_step = false;
  for (const auto& [tag, metric] : metrics) {
    if (train::evaluation_metric(tag)) {
      last = std::max(last, metric.steps.back());
      has_step = has_step || (step && std::ranges::binary_search(metric.steps, *step));
    }
  }
  const auto chosen = has_step ? *step : last;
  for (const auto& [tag, metric] : metrics) {
    const auto name = train::evaluation_metric(tag);
    const auto found = std::ranges::lower_bound(metric.steps, chosen);
    if (name && found != metric.steps.end() && *found == chosen) {
      values[*name] = metric.values[static_cast<std::size_t>(found - metric.steps.begin())];
    }
  }
  return values;
}

/// Reads the files of a run directory into a history.
class HistoryReader {
 public:
  HistoryReader(std::string directory, int64_t run) : directory_(std::move(directory)), run_(run) {}

  RunHistory read() {
    try {
      add_metrics();
    } catch (const UserError& error) {
      history_.problems.push_back(str_cat("there are no curves: ", error.what()));
    }
    try {
      for (const auto& resume : train::read_run_record(directory_).resumes) {
        add_event("resume", str_cat("resumed at step ", resume.step), resume.step);
      }
    } catch (const UserError& error) {
      history_.problems.push_back(str_cat("resumes are unknown: ", error.what()));
    }
    for (auto& event : history_.events) {
      const auto step = static_cast<int64_t>(event.x.at("step"));
      for (const auto& [name, values] : history_.axes_at({step})) {
        event.x[name] = values.front();
      }
    }
    return std::move(history_);
  }

 private:
  void add_metrics() {
    const auto path = directory_ + "/metrics.jsonl";
    const MappedFile file(path);
    int64_t damaged = 0;
    for (const auto raw : split(file.text(), '\n')) {
      if (raw.empty()) {
        continue;
      }
      if (line_.read(raw) && std::abs(line_.at("step")) < kMostSteps) {
        add_line();
      } else {
        ++damaged;
      }
    }
    if (damaged > 0) {
      history_.problems.push_back(
          str_cat(path, ": ", counted(damaged, "damaged line"), " left out"));
    }
  }

  void add_line() {
    const auto step = static_cast<int64_t>(line_.at("step"));
    for (const auto& [tag, value] : line_.numbers()) {
      if (tag != "step") {
        auto& metric = history_.metrics[tag];
        metric.steps.push_back(step);
        metric.values.push_back(value);
      }
    }
    add_time(step);
    for (const auto& [tag, kind, noun] : kCounters) {
      const double count = line_.at(tag);
      if (std::isfinite(count) && count > counts_[tag]) {
        const auto more = std::llround(count - counts_[tag]);
        add_event(kind, str_cat(counted(more, noun), " by step ", step), step);
        counts_[tag] = count;
      }
    }
  }

  /// The time of the steps since the last line is their tokens divided by their speed.
  void add_time(int64_t step) {
    const double tokens = line_.at("train/tokens");
    const double speed = line_.at("throughput/tokens_per_second");
    if (!std::isfinite(tokens) || !std::isfinite(speed)) {
      return;
    }
    auto& all = history_.tokens_;
    auto& seconds = history_.seconds_;
    const double spent = speed > 0 ? (tokens - (all.empty() ? 0 : all.back())) / speed : 0;
    seconds.push_back((seconds.empty() ? 0 : seconds.back()) + std::max(spent, 0.0));
    all.push_back(tokens);
    history_.logged_steps_.push_back(step);
  }

  void add_event(const std::string& kind, const std::string& label, int64_t step) {
    history_.events.push_back(
        {.run = run_, .kind = kind, .label = label, .x = {{"step", static_cast<double>(step)}}});
  }

  std::string directory_;
  int64_t run_;
  MetricsLine line_;
  std::map<std::string, double> counts_;  // of events so far, by tag
  RunHistory history_;
};

const std::vector<LineChartOptions::Axis>& history_axes() {
  static const std::vector<LineChartOptions::Axis> kAxes = {
      {"step", "Step"}, {"tokens", "Tokens"}, {"time", "Training time (s)"}};
  return kAxes;
}

RunHistory read_history(const std::string& directory, int64_t run) {
  return HistoryReader(directory, run).read();
}

std::vector<std::size_t> shown_points(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> shown;
  const std::size_t parts = std::max<std::size_t>(1, most / 2);
  const bool shows_all = values.size() <= std::max<std::size_t>(most, 4);
  const std::size_t count = shows_all ? values.size() : parts - 1;
  for (std::size_t part = 0; part < count; ++part) {
    const std::size_t begin = part * values.size() / count;
    const std::size_t end = (part + 1) * values.size() / count;
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto [low, high] =
        std::minmax_element(first, values.begin() + static_cast<std::ptrdiff_t>(end));
    const auto a = static_cast<std::size_t>(std::min(low, high) - values.begin());
    const auto b = static_cast<std::size_t>(std::max(low, high) - values.begin());
    shown.push_back(a);
    if (b != a) {
      shown.push_back(b);
    }
  }
  if (!shows_all) {
    shown.insert(shown.begin(), 0);
    shown.push_back(values.size() - 1);
    shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  }
  return shown;
}

Series metric_series(const RunHistory& history,
                     const std::string& tag,
                     std::string name,
                     int64_t run,
                     std::size_t most) {
  const auto& metric = history.metrics.at(tag);
  std::vector<int64_t> steps;
  Series series{.name = std::move(name), .x = nullptr, .y = {}, .run = run};
  for (const auto index : shown_points(metric.values, most)) {
    steps.push_back(metric.steps[index]);
    series.y.push_back(metric.values[index]);
  }
  series.x = std::make_shared<const AxisValues>(history.axes_at(steps));
  return series;
}

}  // namespace weft::report
