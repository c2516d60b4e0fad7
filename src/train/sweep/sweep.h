#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/run/train.h"
#include "train/step/evaluate.h"
#include "train/sweep/sweep_grid.h"

namespace weft::train {

/// Many runs of one config: every setting of its `grid:`, with every seed, on every fold.
struct SweepRequest {
  std::string config;                       // file
  std::vector<std::string> overrides = {};  // dotted.key=value
  std::vector<int64_t> seeds = {};          // empty: the config's seed
  int64_t folds = 0;                        // cross-validation folds of the training rows; 0: none
  std::vector<std::string> tests = {};      // files to evaluate each run's best model on
  Resume resume = Resume::kAuto;            // kAuto or kNever
  bool allows_changed_data = false;         // accept other training data when runs are resumed
  int64_t halving = 0;  // factor of successive halving over the settings; 0: all are trained fully
};

/// One run of a sweep, before it is started.
struct PlannedRun {
  std::string name;  // directory below that of the sweep: `lr-5e-5/seed-1`
  Setting setting;   // of the grid
  int64_t seed = 0;
  int64_t fold = 0;  // 0: no folds
  RunConfig config;
};

/// Returns all runs in order, with every config read and checked. Throws config::Error, and
/// UserError if nothing would be measured or two runs would share a directory.
std::vector<PlannedRun> plan_sweep(const SweepRequest& request);

/// Summary of a metric over runs that differ only by seed and fold.
struct MetricSummary {
  std::vector<double> values = {};  // in the order of the runs
  double mean = 0;
  std::optional<double> sample_std = {};  // with n - 1; nullopt for a single run
};
MetricSummary summarize_metric(std::vector<double> values);

struct SweepRun {
  std::string name;
  int64_t seed = 0;
  int64_t fold = 0;
  int64_t step = 0;        // at which the metrics were taken
  Metrics metrics;         // eval_..., for the test files test_...
  std::string error = {};  // why the run diverged, which then has no metrics; empty: it did not
};

struct SweepGroup {
  Setting setting;
  std::string name;  // of the setting; empty without a grid
  std::vector<SweepRun> runs;
  double share = 1;  // of their duration: less if successive halving dropped the setting
  std::map<std::string, MetricSummary> metrics;  // those that all runs report
};

struct SweepResult {
  std::string directory;
  std::string metric_for_best_model;
  std::vector<SweepGroup> groups;  // best first, those that were dropped early last
};

/// Trains the runs one after the other, resuming those that were interrupted; with successive
/// halving, round by round. A run that diverges is a result: the sweep goes on, and its setting is
/// ranked last. Writes the results atomically to `seeds.json`, `folds.json` or `grid.json` of the
/// directory. Throws as run_training does otherwise; after Stopped, the same command continues with
/// the remaining runs.
SweepResult run_sweep(const SweepRequest& request);

/// One JSON object on one line: every run with its metrics, every setting with means and standard
/// deviations, best first.
std::string to_json(const SweepResult& result);

/// Names of the runs that diverged.
std::vector<std::string> diverged_runs(const SweepResult& result);

/// Human-readable table: for one setting a line per metric, for several a line per setting and the
/// name of the best.
std::string to_table(const SweepResult& result);

}  // namespace weft::train
