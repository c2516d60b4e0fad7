#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/string_util.h"
#include "formats/json.h"
#include "report/figures/charts.h"
#include "report/figures/line_chart.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr std::size_t kMostBars = 40;

std::string setting_text(const Json& group) {
  if (!group.contains("setting")) {
    return "all runs";
  }
  std::vector<std::string> parts;
  for (const auto& [key, value] : group["setting"].items()) {
    parts.push_back(str_cat(key, "=", value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return join(parts);
}

std::optional<double> number_of(const Json& value) {
  const auto text = value.is_string() ? value.get<std::string>() : value.dump();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(number) ? std::optional(number)
                                                                : std::nullopt;
}

/// A key of the settings whose values are all numbers, against the metric.
void add_effect(const Json& groups, const std::string& key, const std::string& metric, Page& page) {
  std::vector<ScatterPlot::Point> points;
  for (const auto& group : groups) {
    const auto number = number_of(group["setting"].value(key, Json("")));
    if (!number || !group["metrics"].contains(metric)) {
      return;
    }
    for (const auto& value : group["metrics"][metric]["values"]) {
      if (value.is_number()) {
        points.push_back({.x = *number, .y = value.get<double>(), .label = setting_text(group)});
      }
    }
  }
  if (!points.empty()) {
    page.add(ScatterPlot(str_cat(metric, " by ", key), {.x_label = key, .y_label = metric},
                         std::move(points)));
  }
}

void add_settings(const Json& sweep, Page& page) {
  const auto& groups = sweep["settings"];
  const auto best_by = sweep.value("best_by", "");
  std::set<std::string> metrics;
  std::set<std::string> keys;
  for (const auto& group : groups) {
    for (const auto& [name, summary] : group["metrics"].items()) {
      metrics.insert(name);
    }
    const auto setting = group.value("setting", Json::object());
    for (const auto& [key, value] : setting.items()) {
      keys.insert(key);
    }
  }
  Table table{.caption = str_cat("Settings, the best by ", best_by,
                                 " first: mean ± standard "
                                 "deviation over their runs"),
              .columns = {"Setting", "Runs"},
              .rows = {}};
  table.columns.insert(table.columns.end(), metrics.begin(), metrics.end());
  std::vector<std::string> names;
  BarChart::Bars bars{.name = best_by, .values = {}};
  for (const auto& group : groups) {
    std::vector<std::string> row = {setting_text(group), std::to_string(group["runs"].size())};
    for (const auto& name : metrics) {
      if (!group["metrics"].contains(name)) {
        row.emplace_back("–");
        continue;
      }
      const auto& summary = group["metrics"][name];
      row.push_back(summary["std"].is_number()
                        ? str_cat(number_text(summary["mean"].get<double>()), " ± ",
                                  number_text(summary["std"].get<double>(), 2))
                        : number_text(summary["mean"].get<double>()));
    }
    table.rows.push_back(std::move(row));
    if (group["metrics"].contains(best_by)) {
      names.push_back(setting_text(group));
      bars.values.push_back(group["metrics"][best_by]["mean"].get<double>());
    }
  }
  page.add(table);
  if (names.size() > 1 && names.size() <= kMostBars) {
    page.add(BarChart(best_by + " of each setting", best_by, std::move(names), {bars}));
  }
  for (const auto& key : keys) {
    add_effect(groups, key, best_by, page);
  }
}

}  // namespace

void add_sweep(const ReportInput& input, Page& page) {
  for (const auto& path : input.sweeps) {
    page.heading(path);
    const auto sweep = formats::read_json(path);
    page.add_data("sweep", sweep);
    try {
      add_settings(sweep, page);
    } catch (const Json::exception& error) {
      page.warning(str_cat(path, ": damaged: ", error.what()));
    }
  }
}

}  // namespace weft::report
