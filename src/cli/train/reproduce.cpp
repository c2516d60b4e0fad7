#include "train/run/reproduce.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/train/train.h"
#include "formats/json.h"

namespace weft::cli {

namespace {

constexpr int64_t kSteps = 40;

int report(const train::Comparison& comparison,
           const std::string& area,
           const std::string& subject,
           formats::Json json) {
  constexpr std::size_t kShown = 8;
  const auto& differences = comparison.differences;
  const auto what = str_cat(with_commas(comparison.tensors), " tensors, the state and ",
                            with_commas(comparison.lines), " lines of metrics.jsonl");
  if (comparison.is_equal()) {
    log::info(str_cat(area, " ", subject, " identical: ", what));
  } else {
    log::error(
        str_cat(area, " ", subject, " different: ", differences.size(), " differences in ", what));
    for (std::size_t i = 0; i < std::min(kShown, differences.size()); ++i) {
      log::error(str_cat(area, " ", differences[i]));
    }
  }
  json["equal"] = comparison.is_equal();
  json["tensors"] = comparison.tensors;
  json["lines"] = comparison.lines;
  json["differences"] = differences;
  std::cout << json.dump() << "\n";
  return comparison.is_equal() ? 0 : 1;
}

void reject_others(const Arguments& arguments,
                   const std::string& option,
                   const std::vector<std::string>& others) {
  for (const auto& other : others) {
    if (arguments.has(other)) {
      throw UsageError(str_cat("weft train: --", other, " cannot be used with --", option));
    }
  }
}

}  // namespace

void declare_reproduce(Arguments& arguments) {
  arguments.group("Determinism")
      .value("reproduce", "RUN",
             "Repeat the run of this directory in --output (default: RUN-repeat) with its "
             "config, seed and threads, and check that the weights are identical; takes no CONFIG")
      .flag("verify-resume",
            "Check that a stopped run of this config resumes bit for bit: train --steps steps in "
            "one process, and again in two processes of half the steps, in a temporary directory")
      .value("steps", "N", "With --verify-resume: number of training steps (default: 40)");
}

int run_reproduce(const Arguments& arguments) {
  reject_others(arguments, "reproduce",
                {"set", "resume", "allow-changed-data", "dry-run", "verify-resume", "steps",
                 "seeds", "folds"});
  if (!arguments.positional().empty()) {
    throw UsageError(str_cat("weft train: --reproduce takes the config of its run, omit '",
                             arguments.positional().front(), "'"));
  }
  const auto output = arguments.has("output") ? std::optional(arguments.get("output"))
                                              : std::optional<std::string>();
  const auto reproduction = train::reproduce_run(arguments.get("reproduce"), output);
  formats::Json json;
  json["directory"] = reproduction.directory;
  json["step"] = reproduction.step;
  return report(reproduction.comparison, "[reproduce]", str_cat("step ", reproduction.step, " is"),
                std::move(json));
}

int run_verify_resume(const Arguments& arguments, const train::RunConfig& config) {
  reject_others(arguments, "verify-resume",
                {"output", "resume", "allow-changed-data", "dry-run", "seeds", "folds"});
  if (!config.grid.empty()) {
    throw UsageError(
        "weft train: --verify-resume works only with a single run, this config has a grid");
  }
  constexpr int64_t kMaxSteps = 1'000'000'000;
  const auto check = train::verify_resume(config, arguments.integer("steps", kSteps, 2, kMaxSteps));
  formats::Json json;
  json["steps"] = check.steps;
  json["new_process_after"] = check.half;
  return report(check.comparison, "[resume]",
                str_cat(check.steps, " steps in one process and ", check.half, " + ",
                        check.steps - check.half, " steps in two are"),
                std::move(json));
}

}  // namespace weft::cli
