#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/shared_options.h"
#include "metrics/bootstrap.h"
#include "report/run_summary.h"
#include "train/log/metrics_log.h"
#include "train/run/device.h"
#include "train/step/evaluate_directory.h"

namespace weft::cli {
namespace {

using formats::Json;
using report::RunSummary;
using Metrics = std::map<std::string, double>;

constexpr uint64_t kSamples = 1000;  // bootstrap samples
constexpr int kComparedDigits = 4;

/// --data, else data.evaluate of the first run; empty if it has none.
std::vector<std::string> files_of(const Arguments& arguments, const RunSummary& first) {
  const auto files = arguments.all("data");
  return files.empty() ? report::evaluation_files(first) : files;
}

/// Differences of the metrics to those of the first run, in each bootstrap sample.
std::map<std::string, std::vector<double>> sampled_differences(objectives::Evaluation& first,
                                                               objectives::Evaluation& other) {
  std::map<std::string, std::vector<double>> differences;
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    throw_if_stopped("comparing");
    const auto rows = metrics::bootstrap_rows(first.size(), sample);
    const auto before = first.result_of(rows);
    for (const auto& [name, value] : other.result_of(rows)) {
      if (const auto found = before.find(name); found != before.end()) {
        differences[name].push_back(value - found->second);
      }
    }
  }
  return differences;
}

/// One object for each run: its metrics; from the second on, the differences to the first run, with
/// the 95 % intervals where `intervals` has samples.
Json run_report(const std::string& directory,
                const Metrics& values,
                const Metrics& first,
                const std::map<std::string, std::vector<double>>& samples) {
  Json report = {{"run", directory}, {"metrics", values}};
  for (const auto& [name, sample] : samples) {
    const auto interval = metrics::percentile_interval(sample);
    report["differences"][name] = {{"difference", values.at(name) - first.at(name)},
                                   {"low", interval.low},
                                   {"high", interval.high}};
  }
  return report;
}

Json evaluated(const std::vector<RunSummary>& runs,
               const std::vector<std::string>& files,
               const Arguments& arguments) {
  const train::EvaluationSettings settings{.inference = read_inference(arguments)};
  Json reports = Json::array();
  std::unique_ptr<objectives::Evaluation> first;
  for (const auto& run : runs) {
    auto done = train::run_evaluation_on_directory(run.directory, files, settings);
    log::info(str_cat("[compare] evaluated ", done.directory));
    std::map<std::string, std::vector<double>> samples;
    const bool is_paired = first && first->size() == done.evaluation->size();
    if (is_paired) {
      samples = sampled_differences(*first, *done.evaluation);
    } else if (first) {
      log::warning(str_cat("[compare] ", run.directory, ": ", done.evaluation->size(),
                           " examples, but the first run has ", first->size(),
                           ": no intervals, which need the same examples"));
    }
    reports.push_back(run_report(run.directory, done.evaluation->result(),
                                 first ? first->result() : Metrics(), samples));
    if (!first) {
      first = std::move(done.evaluation);
    }
  }
  return reports;
}

/// Metrics of the best checkpoints as training logged them.
Json logged(const std::vector<RunSummary>& runs) {
  Json reports = Json::array();
  for (const auto& run : runs) {
    const auto logged = train::read_run_metrics(run.directory).metrics;
    reports.push_back(run_report(run.directory, logged, {}, {}));
  }
  return reports;
}

std::string shown_number(const Json& value) {
  return value.is_number() ? shortest_repr(round_to_digits(value.get<double>(), kComparedDigits))
                           : "-";
}

std::string shown_metric(const Json& report, const std::string& name) {
  auto text = report["metrics"].contains(name) ? shown_number(report["metrics"][name]) : "-";
  if (report.contains("differences") && report["differences"].contains(name)) {
    const auto& found = report["differences"][name];
    text += str_cat(" (", found["difference"].get<double>() < 0 ? "" : "+",
                    shown_number(found["difference"]), " [", shown_number(found["low"]), ", ",
                    shown_number(found["high"]), "])");
  }
  return text;
}

std::string comparison_table(const Json& report) {
  std::vector<std::string> header = {"config"};
  std::set<std::string> names;
  for (const auto& run : report["runs"]) {
    header.push_back(run["run"].get<std::string>());
    for (const auto& [name, value] : run["metrics"].items()) {
      names.insert(name);
    }
  }
  std::vector<std::vector<std::string>> rows = {header};
  for (const auto& [key, values] : report["config"].items()) {
    rows.push_back({key});
    for (const auto& value : values) {
      rows.back().push_back(value.get<std::string>());
    }
  }
  auto text = format_columns(rows) + "\n";
  header[0] = "metric";
  rows = {header};
  for (const auto& name : names) {
    rows.push_back({name});
    for (const auto& run : report["runs"]) {
      rows.back().push_back(shown_metric(run, name));
    }
  }
  return text + format_columns(rows);
}

}  // namespace

int run_compare(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft compare RUN RUN ... [--data FILE] [options]",
       .description =
           "Compares runs: the config keys that differ, and the metrics of the best checkpoints, "
           "all evaluated on the same data. Behind a metric is the difference to the first run "
           "with its 95 % interval by a paired bootstrap over the examples (1,000 samples): a "
           "difference whose interval contains 0 is not significant. Without evaluation data the "
           "metrics are those that training logged, without intervals.",
       .examples = {"weft compare runs/small runs/large",
                    "weft compare runs/small runs/large --data test.tsv --json"}},
      2, 100);
  arguments
      .value("data", "FILE",
             "Evaluation data, as for `weft evaluate`; may be repeated (default: data.evaluate of "
             "the first run)")
      .flag("json", "Print one JSON object");
  declare_inference(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  train::set_threads(read_threads(arguments));
  std::vector<RunSummary> runs;
  for (const auto& directory : arguments.positional()) {
    runs.push_back(report::read_run(directory));
  }
  Json report = {{"config", report::config_differences(runs)}};
  const auto files = files_of(arguments, runs[0]);
  if (files.empty()) {
    log::warning(str_cat("[compare] ", runs[0].directory,
                         " has no data.evaluate: the metrics are those that training logged, "
                         "without intervals; --data FILE evaluates the runs"));
  }
  report["runs"] = files.empty() ? logged(runs) : evaluated(runs, files, arguments);
  std::cout << (arguments.has("json") ? report.dump() + "\n" : comparison_table(report));
  return 0;
}

}  // namespace weft::cli
