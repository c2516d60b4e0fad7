#include "train/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "metrics/metric.h"
#include "objectives/objective.h"
#include "train/log/metrics_log.h"
#include "train/run/device.h"
#include "train/step/evaluate_directory.h"

namespace weft::train {

namespace {

RunConfig read_config(const SweepRequest& request, const std::vector<std::string>& more) {
  auto overrides = request.overrides;
  overrides.insert(overrides.end(), more.begin(), more.end());
  return read_run_config(config::Document::load(request.config, overrides));
}

/// Config that all runs share. Folds replace data.evaluate.
RunConfig read_sweep_base(const SweepRequest& request) {
  return request.folds > 0
             ? read_config(request, {"data.evaluate=[]", str_cat("data.folds=", request.folds)})
             : read_config(request, {});
}

std::vector<int64_t> fold_numbers(int64_t folds) {
  std::vector<int64_t> numbers(static_cast<std::size_t>(std::max<int64_t>(folds, 1)));
  std::iota(numbers.begin(), numbers.end(), folds > 0 ? 1 : 0);
  return numbers;
}

std::string name_of_run(const SweepRequest& request, const PlannedRun& run) {
  std::vector<std::string> words;
  if (!run.setting.empty()) {
    words.push_back(name_of(run.setting));
  }
  if (!request.seeds.empty()) {
    words.push_back(str_cat("seed-", run.seed));
  }
  if (run.fold > 0) {
    words.push_back(str_cat("fold-", run.fold));
  }
  return join(words, "/");
}

/// Overrides that turn the config into this run.
std::vector<std::string> overrides_of(const SweepRequest& request,
                                      const PlannedRun& run,
                                      const std::string& directory) {
  std::vector<std::string> result = {"grid=null"};
  for (const auto& [key, value] : run.setting) {
    result.push_back(str_cat(key, "=", value));
  }
  result.push_back(str_cat("run.seed=", run.seed));
  result.push_back("run.directory=" + formats::Json(directory + "/" + run.name).dump());
  if (run.fold > 0) {
    result.emplace_back("data.evaluate=[]");
    result.push_back(str_cat("data.folds=", request.folds));
    result.push_back(str_cat("data.fold=", run.fold));
  }
  return result;
}

void check_measured(const SweepRequest& request, const PlannedRun& run) {
  const auto& config = run.config;
  const bool is_measured = config.train.evaluate_every && config.data.has_evaluation();
  if (!is_measured && request.tests.empty()) {
    throw UserError(str_cat(request.config,
                            ": no evaluation data to compare the runs on: set data.evaluate, "
                            "--folds or --test, and train.evaluate_every other than never"));
  }
}

std::string metric_for_best_model_of(const RunConfig& config) {
  return config.train.metric_for_best_model.value_or(config.objective->metric_for_best_model());
}

SweepRun measure_run(const SweepRequest& request, const PlannedRun& run) {
  SweepRun result{.name = run.name, .seed = run.seed, .fold = run.fold, .step = 0, .metrics = {}};
  const auto found = read_run_metrics(run.config.run.directory);
  result.step = found.step;
  result.metrics = found.metrics;
  if (!request.tests.empty()) {
    const auto device = choose_device(run.config.run.device);
    set_threads(run.config.train.threads);
    for (const auto& [name, value] : evaluate_directory(run.config.run.directory, request.tests,
                                                        {.inference = {.device = device}})) {
      result.metrics[name.starts_with("eval_") ? "test_" + name.substr(5) : "test_" + name] = value;
    }
  }
  return result;
}

void summarize(SweepGroup& group) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& run : group.runs) {
    for (const auto& [name, value] : run.metrics) {
      values[name].push_back(value);
    }
  }
  for (auto& [name, list] : values) {
    if (list.size() == group.runs.size()) {
      group.metrics[name] = summarize_metric(std::move(list));
    }
  }
}

/// Best first; groups without the metric come last.
void sort_groups(SweepResult& result, bool greater_is_better) {
  const auto value = [&](const SweepGroup& group) {
    const auto found = group.metrics.find(result.metric_for_best_model);
    const double sign = greater_is_better ? -1 : 1;
    return found == group.metrics.end() || !std::isfinite(found->second.mean)
               ? std::numeric_limits<double>::infinity()
               : sign * found->second.mean;
  };
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [&](const auto& a, const auto& b) { return value(a) < value(b); });
}

std::string file_of(const SweepRequest& request, const SweepResult& result) {
  const bool has_grid = !result.groups.front().setting.empty();
  const auto* name = has_grid ? "grid.json" : request.folds > 0 ? "folds.json" : "seeds.json";
  return result.directory + "/" + name;
}

}  // namespace

MetricSummary summarize_metric(std::vector<double> values) {
  MetricSummary result;
  const auto count = static_cast<double>(values.size());
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) {
      squares += (value - result.mean) * (value - result.mean);
    }
    result.sample_std = std::sqrt(squares / (count - 1));
  }
  result.values = std::move(values);
  return result;
}

std::vector<PlannedRun> plan_sweep(const SweepRequest& request) {
  const auto base = read_sweep_base(request);
  const auto seeds = request.seeds.empty() ? std::vector{base.run.seed} : request.seeds;
  std::vector<PlannedRun> runs;
  std::set<std::string> names;
  for (const auto& setting : combinations(base.grid)) {
    for (const auto seed : seeds) {
      for (const auto fold : fold_numbers(request.folds)) {
        PlannedRun run{.name = {}, .setting = setting, .seed = seed, .fold = fold, .config = {}};
        run.name = name_of_run(request, run);
        run.config = read_config(request, overrides_of(request, run, base.run.directory));
        check_measured(request, run);
        if (!names.insert(run.name).second) {
          throw UserError(str_cat("two runs of the sweep have the same name ", run.name,
                                  ": write their grid values differently"));
        }
        runs.push_back(std::move(run));
      }
    }
  }
  return runs;
}

SweepResult run_sweep(const SweepRequest& request) {
  const auto runs = plan_sweep(request);
  const auto base = read_sweep_base(request);
  if (request.folds > 0) {
    log::info("[sweep] each run is evaluated on its held-out fold, data.evaluate is not used");
  }
  SweepResult result{.directory = base.run.directory,
                     .metric_for_best_model = metric_for_best_model_of(base),
                     .groups = {}};
  const bool greater_is_better =
      metrics::greater_is_better(result.metric_for_best_model, "train.best_by");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& run = runs[i];
    throw_if_stopped("sweep: between two runs");
    log::info(str_cat("[sweep] run ", i + 1, " of ", runs.size(), ": ", run.name));
    run_training(run.config, {.resume = request.resume});
    if (result.groups.empty() || result.groups.back().setting != run.setting) {
      result.groups.push_back({.setting = run.setting,
                               .name = run.setting.empty() ? "" : name_of(run.setting),
                               .runs = {},
                               .metrics = {}});
    }
    result.groups.back().runs.push_back(measure_run(request, run));
  }
  for (auto& group : result.groups) {
    summarize(group);
  }
  sort_groups(result, greater_is_better);
  write_file(file_of(request, result), to_json(result) + "\n");
  log::info(str_cat("[sweep] done: ", runs.size(), " runs; ", file_of(request, result)));
  return result;
}

}  // namespace weft::train
