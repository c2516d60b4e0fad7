#include "train/sweep/sweep_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <set>

#include "base/columns.h"
#include "base/text.h"
#include "formats/json.h"

namespace weft::train {

namespace {

using formats::Json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kMostColumns = 6;  // of single runs

Json report_json_of(const Spread& spread) {
  Json json;
  json["mean"] = spread.mean;
  json["deviation"] = spread.deviation ? Json(*spread.deviation) : Json(nullptr);
  json["values"] = spread.values;
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
  json["figures"] = run.figures;
  return json;
}

Json report_json_of(const SweepGroup& group) {
  Json json;
  if (!group.setting.empty()) {
    json["name"] = group.name;
    json["setting"] = report_json_of(group.setting);
  }
  json["figures"] = Json::object();
  for (const auto& [name, spread] : group.figures) {
    json["figures"][name] = report_json_of(spread);
  }
  json["runs"] = Json::array();
  for (const auto& run : group.runs) {
    json["runs"].push_back(report_json_of(run));
  }
  return json;
}

std::string report_number(double value) { return text(std::fixed, std::setprecision(4), value); }

std::string deviation_of(const Spread& spread) {
  return spread.deviation ? report_number(*spread.deviation) : "-";
}

std::string figures_table(const SweepGroup& group) {
  const bool shows_runs = group.runs.size() <= kMostColumns;
  Rows rows = {{"figure", "mean", "deviation"}};
  for (std::size_t i = 0; shows_runs && i < group.runs.size(); ++i) {
    rows.front().push_back(group.runs[i].name);
  }
  for (const auto& [name, spread] : group.figures) {
    auto& row = rows.emplace_back();
    row = {name, report_number(spread.mean), deviation_of(spread)};
    for (std::size_t i = 0; shows_runs && i < spread.values.size(); ++i) {
      row.push_back(report_number(spread.values[i]));
    }
  }
  return in_columns(rows);
}

/// The figure that decides, and what the test files say of the same thing.
std::vector<std::string> shown_figures(const SweepResult& result) {
  std::vector<std::string> wished = {result.best_by};
  if (result.best_by.starts_with("eval_")) {
    wished.push_back("test_" + result.best_by.substr(5));
  }
  std::vector<std::string> shown;
  for (const auto& name : wished) {
    if (std::any_of(result.groups.begin(), result.groups.end(),
                    [&](const auto& group) { return group.figures.contains(name); })) {
      shown.push_back(name);
    }
  }
  return shown;
}

std::string settings_table(const SweepResult& result) {
  const auto figures = shown_figures(result);
  Rows rows = {{"setting", "runs"}};
  for (const auto& name : figures) {
    rows.front().push_back(name);
    rows.front().emplace_back("deviation");
  }
  for (const auto& group : result.groups) {
    auto& row = rows.emplace_back();
    row = {to_string(group.setting), std::to_string(group.runs.size())};
    for (const auto& name : figures) {
      const auto found = group.figures.find(name);
      const bool has = found != group.figures.end();
      row.push_back(has ? report_number(found->second.mean) : "-");
      row.push_back(has ? deviation_of(found->second) : "-");
    }
  }
  const auto& best = result.groups.front();
  return in_columns(rows) + (best.figures.contains(result.best_by)
                                 ? text("best by ", result.best_by, ": ", to_string(best.setting),
                                        "  (", result.directory, "/", best.name, ")\n")
                                 : "");
}

}  // namespace

std::string to_json(const SweepResult& result) {
  Json json;
  json["directory"] = result.directory;
  json["best_by"] = result.best_by;
  json["settings"] = Json::array();
  for (const auto& group : result.groups) {
    json["settings"].push_back(report_json_of(group));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_table(const SweepResult& result) {
  const auto& first = result.groups.front();
  return first.setting.empty() ? figures_table(first) : settings_table(result);
}

}  // namespace weft::train
