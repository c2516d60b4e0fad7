#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "report/figures/line_chart.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

// Points of all curves of a page: a curve has fewer, the more there are.
constexpr std::size_t kAllPoints = 90'000;
constexpr std::size_t kMostPoints = 2000;     // of a curve
constexpr std::size_t kFewestPoints = 100;    // of a curve
constexpr std::size_t kMostChartMarks = 100;  // of a chart

/// Counters are events, and the axes are no curves.
bool is_curve(const std::string& tag) {
  static const std::set<std::string> kOthers = {
      "train/tokens", "train/epoch", "train/skipped_steps", "train/spikes", "train/rollbacks"};
  return !kOthers.contains(tag) && !tag.starts_with("throughput/rank_");
}

/// `loss` of `train/loss` and of `eval/loss`, which share a chart.
std::string chart_of(const std::string& tag) {
  for (const std::string prefix : {"train/", "eval/"}) {
    if (tag.starts_with(prefix)) {
      return tag.substr(prefix.size());
    }
  }
  return tag;
}

std::string chart_title(std::string name) {
  static const std::map<std::string, std::string> kTitles = {{"grad_norm", "Gradient norm"},
                                                             {"ece", "Calibration error (ECE)"},
                                                             {"roc_auc", "ROC AUC"},
                                                             {"f1_macro", "Macro F1"},
                                                             {"f1_weighted", "Weighted F1"},
                                                             {"bleu", "BLEU"},
                                                             {"chrf", "chrF"},
                                                             {"mlm_accuracy", "MLM accuracy"}};
  name = name.substr(name.rfind('/') + 1);
  if (const auto found = kTitles.find(name); found != kTitles.end()) {
    return found->second;
  }
  if (name.empty()) {
    return "Unnamed";
  }
  std::ranges::replace(name, '_', ' ');
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

/// Charts in the order in which people look at them: loss first, then metrics of the evaluation,
/// then the rest.
std::vector<std::pair<std::string, std::set<std::string>>> charts_of(const ReportInput& input) {
  std::map<std::string, std::set<std::string>> tags;
  for (const auto& run : input.runs) {
    for (const auto& [tag, history] : run.history.metrics) {
      if (is_curve(tag)) {
        tags[chart_of(tag)].insert(tag);
      }
    }
  }
  const auto rank = [](const auto& chart) {
    const bool is_evaluated = chart.second.contains("eval/" + chart.first);
    return chart.first == "loss"                        ? 0
           : is_evaluated                               ? 1
           : chart.first.find('/') != std::string::npos ? 3
                                                        : 2;
  };
  std::vector<std::pair<std::string, std::set<std::string>>> charts(tags.begin(), tags.end());
  std::ranges::stable_sort(charts, {}, rank);
  return charts;
}

std::vector<Series> series_of_chart(const ReportInput& input,
                                    const std::set<std::string>& tags,
                                    std::size_t most) {
  std::vector<Series> series;
  for (std::size_t run = 0; run < input.runs.size(); ++run) {
    for (auto it = tags.rbegin(); it != tags.rend(); ++it) {  // training before evaluation
      const auto& tag = *it;
      if (!input.runs[run].history.metrics.contains(tag)) {
        continue;
      }
      series.push_back(metric_series(input.runs[run].history, tag,
                                     tag.starts_with("eval/") ? "evaluation" : "training",
                                     static_cast<int64_t>(run), most));
      if (input.runs.size() > 1) {
        series.back().run_name = input.runs[run].summary.directory;
      }
    }
  }
  return series;
}

std::vector<Mark> marks_of(const ReportInput& input) {
  std::vector<Mark> marks;
  for (const auto& run : input.runs) {
    marks.insert(marks.end(), run.history.events.begin(), run.history.events.end());
  }
  return marks;
}

}  // namespace

void add_training(const ReportInput& input, Page& page) {
  const auto charts = charts_of(input);
  std::size_t curves = 1;
  for (const auto& [name, tags] : charts) {
    curves += tags.size() * input.runs.size();
  }
  const auto most = std::clamp(kAllPoints / curves, kFewestPoints, kMostPoints);
  const auto marks = marks_of(input);
  const std::vector<Mark> shown(marks.begin(), marks.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                   marks.size(), kMostChartMarks)));
  for (const auto& [name, tags] : charts) {
    page.add(LineChart(chart_title(name),
                       {.x = history_axes(), .y_label = name, .can_be_smoothed = true},
                       series_of_chart(input, tags, most), shown));
  }
  if (!marks.empty()) {
    Table table{.caption = "Events", .columns = {"Event", "Run", "Step"}, .rows = {}};
    for (const auto& mark : marks) {
      table.rows.push_back({mark.label,
                            input.runs[static_cast<std::size_t>(mark.run)].summary.directory,
                            with_commas(static_cast<int64_t>(mark.x.at("step")))});
    }
    constexpr std::size_t kMostRows = 200;
    if (table.rows.size() > kMostRows) {
      page.note(str_cat("The first ", kMostRows, " of ", table.rows.size(), " events are listed."));
      table.rows.resize(kMostRows);
    }
    page.add(table);
  }
}

}  // namespace weft::report
