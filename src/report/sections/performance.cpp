#include <algorithm>
#include <map>

#include "base/string_util.h"
#include "formats/json.h"
#include "report/figures/charts.h"
#include "report/figures/line_chart.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr std::size_t kRankPoints = 600;

/// Bars of the numbers of an object.
BarChart bars_of(const std::string& title, const std::string& unit, const Json& numbers) {
  std::vector<std::string> names;
  BarChart::Bars bars{.name = unit, .values = {}};
  for (const auto& [name, value] : numbers.items()) {
    if (value.is_number()) {
      names.push_back(name);
      bars.values.push_back(value.get<double>());
    }
  }
  return {title, unit, std::move(names), {std::move(bars)}};
}

/// Scaling curves of `scripts/bench --growth`, from its results.json.
void add_growth(const Json& sweeps, Page& page) {
  for (const auto& [name, sweep] : sweeps.items()) {
    const auto measure = sweep.value("measure", "");
    std::vector<double> x;
    std::vector<double> y;
    for (const auto& point : sweep.value("points", Json::array())) {
      if (point.contains("x") && point.contains(measure) && point[measure].is_number()) {
        x.push_back(point["x"].get<double>());
        y.push_back(point[measure].get<double>());
      }
    }
    page.add(LineChart("Growth: " + sweep.value("title", name),
                       {.x = {{"x", name}}, .y_label = measure, .x_is_log = true, .y_is_log = true},
                       {series_of(measure, std::move(x), std::move(y))}));
  }
}

/// What `weft bench` printed.
void add_bench(const std::string& path, Page& page) {
  const auto bench = formats::read_json(path);
  page.heading(path);
  if (bench.contains("growth") && bench["growth"].is_object()) {
    return add_growth(bench["growth"], page);
  }
  Json parts = Json::object();
  Table table{.caption = "Benchmark of a training step", .columns = {"", "Value"}, .rows = {}};
  for (const auto& [name, value] : bench.items()) {
    if (name.ends_with("_ms") && value.is_number()) {
      parts[name.substr(0, name.size() - 3)] = value;
    }
    if (value.is_number()) {
      table.rows.push_back({name, number_text(value.get<double>())});
    } else if (value.is_string()) {
      table.rows.push_back({name, value.get<std::string>()});
    }
  }
  if (table.rows.empty()) {
    page.warning(path + ": not the output of weft bench, nor the results.json of scripts/bench");
    return;
  }
  page.add(table);
  parts.erase("matrix_products");
  page.add(bars_of("Parts of a step", "ms", parts));
  for (const auto& [key, title] :
       {std::pair("forward_parts_ms", "Operations of the forward pass"),
        std::pair("backward_parts_ms", "Operations of the backward pass"),
        std::pair("memory_mib", "Memory by kind")}) {
    if (bench.contains(key) && bench[key].is_object()) {
      page.add(bars_of(title, std::string(key).ends_with("ms") ? "ms" : "MiB", bench[key]));
    }
  }
}

/// Throughput and communication of each rank.
void add_ranks(const ReportRun& run, int64_t index, Page& page) {
  std::map<std::string, std::vector<Series>> charts;  // by the metric behind `throughput/rank_0/`
  for (const auto& [tag, metric] : run.history.metrics) {
    constexpr std::string_view kPrefix = "throughput/rank_";
    if (tag.starts_with(kPrefix) && tag.find('/', kPrefix.size()) != std::string::npos) {
      const auto slash = tag.find('/', kPrefix.size());
      charts[tag.substr(slash + 1)].push_back(metric_series(
          run.history, tag, str_cat("rank ", tag.substr(kPrefix.size(), slash - kPrefix.size())),
          index, kRankPoints));
    }
  }
  for (auto& [name, series] : charts) {
    page.add(LineChart(str_cat("Ranks: ", name),
                       {.x = history_axes(), .y_label = name, .can_be_smoothed = true},
                       std::move(series)));
  }
}

}  // namespace

void add_performance(const ReportInput& input, Page& page) {
  for (const auto& path : input.options.bench_files) {
    add_bench(path, page);
  }
  for (std::size_t i = 0; i < input.runs.size(); ++i) {
    add_ranks(input.runs[i], static_cast<int64_t>(i), page);
  }
}

}  // namespace weft::report
