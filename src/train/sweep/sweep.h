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
  std::vector<int64_t> seeds = {};          // none: the config's own
  int64_t folds = 0;                        // of the training rows; 0: none
  std::vector<std::string> tests = {};      // files on which each run's best model is measured too
  Resume resume = Resume::kAuto;            // kAuto or kNever
};

/// One run of a sweep, before it is made.
struct PlannedRun {
  std::string name;  // its directory, below that of the sweep: `lr-5e-5/seed-1`
  Setting setting;   // of the grid
  int64_t seed = 0;
  int64_t fold = 0;  // 0: no folds
  RunConfig config;
};

/// All runs in their order, every config read and checked. Throws config::Error, UserError where
/// nothing would be measured or two runs would share a directory.
std::vector<PlannedRun> plan_sweep(const SweepRequest& request);

/// What runs that differ only by seed and fold gave.
struct Spread {
  std::vector<double> values = {};  // in the order of the runs
  double mean = 0;
  std::optional<double> deviation = {};  // of the sample (n - 1); nothing for a single run
};
Spread spread_of(std::vector<double> values);

struct SweepRun {
  std::string name;
  int64_t seed = 0;
  int64_t fold = 0;
  int64_t step = 0;  // at which the figures were taken
  Figures figures;   // eval_..., of the test files test_...
};

struct SweepGroup {
  Setting setting;
  std::string name;  // of the setting; empty without a grid
  std::vector<SweepRun> runs;
  std::map<std::string, Spread> figures;  // those that every run has
};

struct SweepResult {
  std::string directory;
  std::string best_by;
  std::vector<SweepGroup> groups;  // best first
};

/// Trains one after the other, each going on where it stopped. Writes what came out to
/// `seeds.json`, `folds.json` or `grid.json` of the directory, whole or not at all. Throws as
/// run_training does; Stopped leaves the rest of the runs for the same command later.
SweepResult run_sweep(const SweepRequest& request);

}  // namespace weft::train
