#include "train/sweep/sweep.h"

#include <algorithm>
#include <charconv>
#include <iostream>

#include "base/string_util.h"
#include "cli/train/train.h"
#include "config/section.h"
#include "train/run/run_config.h"

namespace weft::cli {

namespace {

constexpr int64_t kMaxRuns = 1000;

[[noreturn]] void reject_seeds(std::string_view word) {
  throw UsageError(str_cat("--seeds: '", word, "', must be a number of runs from 1 to ", kMaxRuns,
                           ", or different seeds as in 1,2,7"));
}

int64_t seed_of(std::string_view part, std::string_view word) {
  int64_t seed = -1;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), seed);
  if (error != std::errc() || end != part.data() + part.size() || seed < 0) {
    reject_seeds(word);
  }
  return seed;
}

void reject_alone(const Arguments& arguments, std::string_view option) {
  if (arguments.has(std::string(option))) {
    throw UsageError(str_cat(
        "weft train: --", option,
        " works only with a single run, not with --seeds, --folds or a config with a grid"));
  }
}

train::Resume resume_of(const std::string& word) {
  if (word == "auto") {
    return train::Resume::kAuto;
  }
  if (word == "never") {
    return train::Resume::kNever;
  }
  throw UsageError(
      str_cat("--resume: '", word,
              "' works only with a single run, must be auto or never for several runs"));
}

}  // namespace

void declare_sweep(Arguments& arguments) {
  arguments.group("Sweep")
      .value("seeds", "N|A,B,...",
             "Train with N seeds, counting up from run.seed, or with these seeds; each run in "
             "DIR/seed-S, followed by a table of means and standard deviations of the best "
             "checkpoints' metrics")
      .value("folds", "K",
             "K-fold cross-validation: K runs, each evaluated on a different held-out fold of the "
             "labelled training rows, in DIR/fold-N")
      .value("test", "FILE",
             "With --seeds, --folds or a grid: also evaluate each run's best model on this file; "
             "may be repeated")
      .value("halving", "FACTOR",
             "Successive halving over the settings of a grid: all are trained for a part of the "
             "duration, the best 1/FACTOR of them FACTOR times as long, and so on; 2 halves")
      .flag("json", "With --seeds, --folds or a grid: print JSON instead of the table");
}

bool asks_for_sweep(const Arguments& arguments) {
  return arguments.has("seeds") || arguments.has("folds") || arguments.has("halving");
}

std::vector<int64_t> read_seeds(std::string_view word, int64_t first) {
  const auto parts = split(word, ',');
  std::vector<int64_t> seeds;
  if (parts.size() == 1) {
    const auto count = seed_of(word, word);
    if (count < 1 || count > kMaxRuns) {
      reject_seeds(word);
    }
    for (int64_t i = 0; i < count; ++i) {
      seeds.push_back(first + i);
    }
    return seeds;
  }
  for (const auto part : parts) {
    const auto seed = seed_of(part, word);
    if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
      reject_seeds(word);
    }
    seeds.push_back(seed);
  }
  return seeds;
}

int run_sweep(const Arguments& arguments, const std::vector<std::string>& overrides) {
  reject_alone(arguments, "dry-run");
  const auto& file = arguments.positional().front();
  train::SweepRequest request{.config = file,
                              .overrides = overrides,
                              .seeds = {},
                              .folds = arguments.integer("folds", 0, 2, kMaxRuns),
                              .tests = arguments.all("test"),
                              .resume = resume_of(arguments.get("resume", "auto")),
                              .allows_changed_data = arguments.has("allow-changed-data"),
                              .halving = arguments.integer("halving", 0, 2, kMaxRuns)};
  const auto config = train::read_run_config(config::Document::load(file, overrides));
  if (arguments.has("seeds")) {
    request.seeds = read_seeds(arguments.get("seeds"), config.run.seed);
  }
  const auto result = train::run_sweep(request);
  write_report_if_asked(config.run);
  std::cout << (arguments.has("json") ? train::to_json(result) + "\n" : train::to_table(result));
  return train::diverged_runs(result).empty() ? 0 : 1;
}

}  // namespace weft::cli
