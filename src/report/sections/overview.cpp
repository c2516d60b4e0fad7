#include <algorithm>
#include <cmath>
#include <set>

#include "base/string_util.h"
#include "formats/json.h"
#include "report/figures/charts.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

double last_of(const RunHistory& history, const std::string& tag) {
  const auto found = history.metrics.find(tag);
  return found == history.metrics.end() ? std::nan("") : found->second.values.back();
}

std::string count_text(double value) {
  return std::isfinite(value) ? with_commas(std::llround(value)) : "–";
}

Table table_of_runs(const ReportInput& input) {
  Table table{.caption = "Runs",
              .columns = {"Run", "Objective", "Model", "Status", "Steps", "Tokens", "Training time",
                          "Last training loss"},
              .rows = {}};
  for (const auto& [summary, history] : input.runs) {
    const auto times = history.axes_at({INT64_MAX});
    const auto time = times.find("time");
    table.rows.push_back({summary.directory, summary.setting("objective.type"), summary.model(),
                          summary.status(),
                          summary.state ? with_commas(summary.state->progress.steps) : "–",
                          count_text(last_of(history, "train/tokens")),
                          time == times.end() ? "–" : format_duration(time->second.front()),
                          number_text(last_of(history, "train/loss"))});
  }
  return table;
}

/// A bar for each run: the loss and some of the other metrics that all have.
void add_bars(const ReportInput& input,
              const std::vector<std::map<std::string, double>>& metrics,
              const std::set<std::string>& names,
              Page& page) {
  constexpr std::size_t kMostBars = 24;
  constexpr int64_t kMostCharts = 6;
  if (input.runs.size() > kMostBars) {
    return;
  }
  std::vector<std::string> runs;
  for (const auto& run : input.runs) {
    const auto& directory = run.summary.directory;
    runs.push_back(directory.substr(directory.rfind('/') + 1));
  }
  std::vector<std::string> shown(names.begin(), names.end());
  std::ranges::stable_sort(shown, {}, [](const std::string& name) { return name != "eval_loss"; });
  int64_t drawn = 0;
  for (const auto& name : shown) {
    BarChart::Bars bars{.name = name, .values = {}};
    for (const auto& values : metrics) {
      if (const auto found = values.find(name); found != values.end()) {
        bars.values.push_back(found->second);
      }
    }
    if (bars.values.size() == runs.size() && drawn++ < kMostCharts) {
      page.add(BarChart(name, name, runs, {std::move(bars)}));
    }
  }
}

/// Metrics of the best checkpoints, as training logged them: of one run below each other, of
/// several a row for each run.
void add_metrics(const ReportInput& input, Page& page) {
  constexpr auto kCaption = "Metrics of the best checkpoint, or of the last evaluation";
  std::vector<std::map<std::string, double>> metrics;
  std::set<std::string> names;
  for (const auto& [summary, history] : input.runs) {
    metrics.push_back(history.evaluation(summary.best_step()));
    for (const auto& [name, value] : metrics.back()) {
      names.insert(name);
    }
  }
  page.add_data("metrics", metrics);
  if (names.empty()) {
    return;
  }
  if (input.runs.size() == 1) {
    Table table{.caption = kCaption, .columns = {"Metric", "Value"}, .rows = {}};
    for (const auto& [name, value] : metrics.front()) {
      table.rows.push_back({name, number_text(value)});
    }
    return page.add(table);
  }
  Table table{.caption = kCaption, .columns = {"Run"}, .rows = {}};
  table.columns.insert(table.columns.end(), names.begin(), names.end());
  for (std::size_t run = 0; run < metrics.size(); ++run) {
    auto& row = table.rows.emplace_back();
    row.push_back(input.runs[run].summary.directory);
    for (const auto& name : names) {
      const auto found = metrics[run].find(name);
      row.push_back(found == metrics[run].end() ? "–" : number_text(found->second, 5));
    }
  }
  page.add(table);
  add_bars(input, metrics, names, page);
}

/// A row for each run or for each key, whichever are more.
void add_differences(const ReportInput& input, Page& page) {
  std::vector<RunSummary> runs;
  std::vector<std::string> names;
  for (const auto& run : input.runs) {
    runs.push_back(run.summary);
    names.push_back(run.summary.directory);
  }
  const auto differences = config_differences(runs);
  if (differences.empty()) {
    return;
  }
  const bool has_row_of_run = runs.size() > differences.size();
  Table table{.caption = "Config keys that differ",
              .columns = {has_row_of_run ? "Run" : "Key"},
              .rows = {}};
  if (has_row_of_run) {
    for (const auto& name : names) {
      table.rows.push_back({name});
    }
  } else {
    table.columns.insert(table.columns.end(), names.begin(), names.end());
  }
  for (const auto& [key, values] : differences) {
    if (has_row_of_run) {
      table.columns.push_back(key);
      for (std::size_t run = 0; run < values.size(); ++run) {
        table.rows[run].push_back(values[run]);
      }
    } else {
      table.rows.push_back({key});
      table.rows.back().insert(table.rows.back().end(), values.begin(), values.end());
    }
  }
  page.add(table);
}

}  // namespace

void add_overview(const ReportInput& input, Page& page) {
  for (const auto& problem : input.problems) {
    page.warning(problem);
  }
  for (const auto& run : input.runs) {
    for (const auto& problem : run.history.problems) {
      page.warning(problem);
    }
  }
  page.add(table_of_runs(input));
  add_metrics(input, page);
  if (input.runs.size() > 1) {
    add_differences(input, page);
    if (input.options.loads_model) {
      page.note("A report of a single run also shows its predictions, attention and embeddings.");
    }
  }
}

}  // namespace weft::report
