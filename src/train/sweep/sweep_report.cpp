#include <algorithm>
#include <cmath>
#include <iomanip>
#include <set>

#include "base/string_util.h"
#include "formats/json.h"
#include "train/sweep/sweep.h"

namespace weft::train {

namespace {

using formats::Json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kMostColumns = 6;  // for single runs

Json report_json_of(const MetricSummary& summary) {
  Json json;
  json["mean"] = summary.mean;
  json["std"] = summary.sample_std ? Json(*summary.sample_std) : Json(nullptr);
  json["values"] = summary.values;
  return json;
}

Json report_json_of(const Setting& setting) {
  Json json = Json::object();
  for (const auto& [key, value] : setting) {
    json[key] = value;
  }
  return json;
}

Json report_json_of(const SweepRun& run) {
  Json json;
  json["name"] = run.name;
  json["seed"] = run.seed;
  if (run.fold > 0) {
    json["fold"] = run.fold;
  }
  json["step"] = run.step;
  json["metrics"] = run.metrics;
  if (!run.error.empty()) {
    json["error"] = run.error;
  }
  return json;
}

Json report_json_of(const SweepGroup& group) {
  Json json;
  if (!group.setting.empty()) {
    json["name"] = group.name;
    json["setting"] = report_json_of(group.setting);
  }
  if (group.share < 1) {
    json["share_of_duration"] = group.share;
  }
  json["metrics"] = Json::object();
  for (const auto& [name, summary] : group.metrics) {
    json["metrics"][name] = report_json_of(summary);
  }
  json["runs"] = Json::array();
  for (const auto& run : group.runs) {
    json["runs"].push_back(report_json_of(run));
  }
  return json;
}

std::string report_number(double value) { return str_cat(std::fixed, std::setprecision(4), value); }

std::string sample_std_text(const MetricSummary& summary) {
  return summary.sample_std ? report_number(*summary.sample_std) : "-";
}

std::string metrics_table(const SweepGroup& group) {
  const bool shows_runs = group.runs.size() <= kMostColumns;
  Rows rows = {{"metric", "mean", "std"}};
  for (std::size_t i = 0; shows_runs && i < group.runs.size(); ++i) {
    rows.front().push_back(group.runs[i].name);
  }
  for (const auto& [name, summary] : group.metrics) {
    auto& row = rows.emplace_back();
    row = {name, report_number(summary.mean), sample_std_text(summary)};
    for (std::size_t i = 0; shows_runs && i < summary.values.size(); ++i) {
      row.push_back(report_number(summary.values[i]));
    }
  }
  return format_columns(rows);
}

/// The metric that selects the best run, and the same metric on the test files.
std::vector<std::string> shown_metrics(const SweepResult& result) {
  std::vector<std::string> candidates = {result.metric_for_best_model};
  if (result.metric_for_best_model.starts_with("eval_")) {
    candidates.push_back("test_" + result.metric_for_best_model.substr(5));
  }
  std::vector<std::string> shown;
  for (const auto& name : candidates) {
    if (std::any_of(result.groups.begin(), result.groups.end(),
                    [&](const auto& group) { return group.metrics.contains(name); })) {
      shown.push_back(name);
    }
  }
  return shown;
}

std::string settings_table(const SweepResult& result) {
  const auto metrics = shown_metrics(result);
  Rows rows = {{"setting", "runs"}};
  const bool shows_share =
      std::ranges::any_of(result.groups, [](const auto& group) { return group.share < 1; });
  if (shows_share) {
    rows.front().emplace_back("duration");
  }
  for (const auto& name : metrics) {
    rows.front().push_back(name);
    rows.front().emplace_back("std");
  }
  for (const auto& group : result.groups) {
    auto& row = rows.emplace_back();
    row = {to_string(group.setting), std::to_string(group.runs.size())};
    if (shows_share) {
      row.push_back(str_cat(100 * group.share, " %"));
    }
    for (const auto& name : metrics) {
      const auto found = group.metrics.find(name);
      const bool has = found != group.metrics.end();
      row.push_back(has ? report_number(found->second.mean) : "-");
      row.push_back(has ? sample_std_text(found->second) : "-");
    }
  }
  const auto& best = result.groups.front();
  return format_columns(rows) +
         (best.metrics.contains(result.metric_for_best_model)
              ? str_cat("best by ", result.metric_for_best_model, ": ", to_string(best.setting),
                        "  (", result.directory, "/", best.name, ")\n")
              : "");
}

}  // namespace

std::string to_json(const SweepResult& result) {
  Json json;
  json["directory"] = result.directory;
  json["best_by"] = result.metric_for_best_model;
  json["settings"] = Json::array();
  for (const auto& group : result.groups) {
    json["settings"].push_back(report_json_of(group));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_table(const SweepResult& result) {
  const auto& first = result.groups.front();
  auto table = first.setting.empty() ? metrics_table(first) : settings_table(result);
  if (const auto diverged = diverged_runs(result); !diverged.empty()) {
    table += str_cat("diverged: ", join(diverged), "\n");
  }
  return table;
}

std::vector<std::string> diverged_runs(const SweepResult& result) {
  std::vector<std::string> names;
  for (const auto& group : result.groups) {
    for (const auto& run : group.runs) {
      if (!run.error.empty()) {
        names.push_back(run.name);
      }
    }
  }
  return names;
}

}  // namespace weft::train
