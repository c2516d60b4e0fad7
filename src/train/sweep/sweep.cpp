#include "train/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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
#include "train/step/evaluation_driver.h"
#include "train/step/step_failures.h"
#include "train/sweep/halving.h"

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
                                      const RunConfig& base) {
  std::vector<std::string> result = {"grid=null"};
  if (selects_by_tests(base.train)) {
    result.emplace_back("train.best_by=null");
  }
  for (const auto& [key, value] : run.setting) {
    result.push_back(str_cat(key, "=", value));
  }
  result.push_back(str_cat("run.seed=", run.seed));
  result.push_back("run.directory=" + formats::Json(base.run.directory + "/" + run.name).dump());
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
void sort_groups(std::vector<SweepGroup>& groups,
                 const std::string& metric,
                 bool is_greater_better) {
  const auto value = [&](const SweepGroup& group) {
    const auto found = group.metrics.find(metric);
    const double sign = is_greater_better ? -1 : 1;
    return found == group.metrics.end() || !std::isfinite(found->second.mean)
               ? std::numeric_limits<double>::infinity()
               : sign * found->second.mean;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return value(a) < value(b); });
}

/// The runs by setting, without results.
std::vector<SweepGroup> groups_of(const std::vector<PlannedRun>& runs) {
  std::vector<SweepGroup> groups;
  for (const auto& run : runs) {
    if (groups.empty() || groups.back().setting != run.setting) {
      groups.push_back({.setting = run.setting,
                        .name = run.setting.empty() ? "" : name_of(run.setting),
                        .runs = {},
                        .metrics = {}});
    }
  }
  return groups;
}

/// Trains and measures settings, up to the share of a round.
class SweepRunner {
 public:
  SweepRunner(const SweepRequest& request, std::vector<PlannedRun> runs, const RunConfig& base)
      : request_(request),
        runs_(std::move(runs)),
        record_(base.run.directory + "/halving.json",
                to_hex(digest(base.resolved)),
                request.resume == Resume::kAuto) {}

  void run(SweepGroup& group, const HalvingRound& round, Resume resume) {
    group.runs.clear();
    group.metrics.clear();
    group.share = round.share;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].setting == group.setting) {
        throw_if_stopped("sweep: between two runs");
        log::info(str_cat("[sweep] run ", i + 1, " of ", runs_.size(), ": ", runs_[i].name));
        group.runs.push_back(run_one(runs_[i], round.share, resume));
      }
    }
    summarize(group);
  }

 private:
  SweepRun run_one(const PlannedRun& run, double share, Resume resume) {
    const bool is_whole = share == 1;
    if (const auto known = record_.find(share, run.name)) {
      return {.name = run.name,
              .seed = run.seed,
              .fold = run.fold,
              .step = known->step,
              .metrics = known->metrics};
    }
    TrainRequest request{.resume = resume, .allows_changed_data = request_.allows_changed_data};
    if (!is_whole) {
      request.pause_at = run.config.train.duration;
      request.pause_at->amount *= share;
    }
    try {
      run_training(run.config, request);
    } catch (const TrainingDiverged& error) {
      log::error(str_cat("[sweep] ", run.name, ": ", error.what()));
      return {.name = run.name, .seed = run.seed, .fold = run.fold, .error = error.what()};
    }
    auto result = measure_run(request_, run);
    if (!is_whole) {
      record_.add(share, run.name, {.step = result.step, .metrics = result.metrics});
    }
    return result;
  }

  const SweepRequest& request_;
  std::vector<PlannedRun> runs_;
  HalvingRecord record_;
};

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
  if (selects_by_tests(base.train) && request.tests.empty()) {
    throw UserError(str_cat("train.best_by: ", *base.train.metric_for_best_model,
                            " needs test files, add --test FILE"));
  }
  const auto seeds = request.seeds.empty() ? std::vector{base.run.seed} : request.seeds;
  std::vector<PlannedRun> runs;
  std::set<std::string> names;
  for (const auto& setting : combinations(base.grid)) {
    for (const auto seed : seeds) {
      for (const auto fold : fold_numbers(request.folds)) {
        PlannedRun run{.name = {}, .setting = setting, .seed = seed, .fold = fold, .config = {}};
        run.name = name_of_run(request, run);
        run.config = read_config(request, overrides_of(request, run, base));
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
  auto runs = plan_sweep(request);
  const auto base = read_sweep_base(request);
  if (request.folds > 0) {
    log::info("[sweep] each run is evaluated on its held-out fold, data.evaluate is not used");
  }
  SweepResult result{.directory = base.run.directory,
                     .metric_for_best_model = metric_for_best_model(base.train, *base.objective),
                     .groups = {}};
  const auto& metric = result.metric_for_best_model;
  const bool greater_is_better = metrics::greater_is_better(metric, "train.best_by");
  const auto count = runs.size();
  auto groups = groups_of(runs);
  if (request.halving > 0 && std::ssize(groups) < request.halving) {
    throw UserError(str_cat("successive halving by ", request.halving, " needs a grid of at least ",
                            request.halving, " settings, found ", groups.size()));
  }
  const auto rounds = halving_rounds(groups.size(), request.halving);
  SweepRunner runner(request, std::move(runs), base);
  for (const auto& round : rounds) {
    const bool is_first = &round == &rounds.front();
    result.groups.insert(
        result.groups.begin(),
        std::make_move_iterator(groups.begin() + static_cast<std::ptrdiff_t>(round.settings)),
        std::make_move_iterator(groups.end()));
    groups.resize(round.settings);
    if (rounds.size() > 1) {
      log::info(str_cat("[sweep] round ", &round - rounds.data() + 1, " of ", rounds.size(), ": ",
                        round.settings, round.settings == 1 ? " setting, " : " settings, ",
                        100 * round.share, " % of the duration"));
    }
    for (auto& group : groups) {
      runner.run(group, round, is_first ? request.resume : Resume::kAuto);
    }
    sort_groups(groups, metric, greater_is_better);
  }
  result.groups.insert(result.groups.begin(), std::make_move_iterator(groups.begin()),
                       std::make_move_iterator(groups.end()));
  write_file(file_of(request, result), to_json(result) + "\n");
  log::info(str_cat("[sweep] done: ", count, " runs; ", file_of(request, result)));
  return result;
}

}  // namespace weft::train
