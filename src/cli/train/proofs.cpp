#include "cli/train/proofs.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "formats/json.h"
#include "train/run/repeat.h"
#include "train/run/verify_resume.h"

namespace weft::cli {

namespace {

constexpr int64_t kSteps = 40;

int tell(const train::Comparison& comparison,
         const std::string& area,
         const std::string& subject,
         formats::Json json) {
  constexpr std::size_t kShown = 8;
  const auto& differences = comparison.differences;
  const auto what = text(with_commas(comparison.tensors), " tensors, the state and ",
                         with_commas(comparison.lines), " lines of metrics.jsonl");
  if (comparison.is_equal()) {
    log::info(text(area, " ", subject, " equal, bit for bit: ", what));
  } else {
    log::error(
        text(area, " ", subject, " not equal: ", differences.size(), " differences in ", what));
    for (std::size_t i = 0; i < std::min(kShown, differences.size()); ++i) {
      log::error(text(area, " ", differences[i]));
    }
  }
  json["equal"] = comparison.is_equal();
  json["tensors"] = comparison.tensors;
  json["lines"] = comparison.lines;
  json["differences"] = differences;
  std::cout << json.dump() << "\n";
  return comparison.is_equal() ? 0 : 1;
}

void refuse(const Arguments& arguments,
            const std::string& proof,
            const std::vector<std::string>& others) {
  for (const auto& other : others) {
    if (arguments.has(other)) {
      throw UsageError(text("weft train: --", other, " does not go with --", proof));
    }
  }
}

}  // namespace

void declare_proofs(Arguments& arguments) {
  arguments
      .value(
          "repeat", "RUN",
          "do the run in this directory again, into --output (else RUN-repeat), with its config, "
          "seed and threads, and say whether the weights are equal; takes no CONFIG")
      .flag(
          "verify-resume",
          "prove that a stopped run of this config goes on bit for bit: --steps of them straight, "
          "and half of them, a new process and the rest, in a temporary directory")
      .value("steps", "N", "with --verify-resume: steps of the proof (40)");
}

int run_repeat(const Arguments& arguments) {
  refuse(arguments, "repeat",
         {"set", "resume", "allow-changed-data", "dry-run", "verify-resume", "steps", "seeds",
          "folds"});
  if (!arguments.positional().empty()) {
    throw UsageError(text("weft train: --repeat takes the config of its run, '",
                          arguments.positional().front(), "' is one too many"));
  }
  const auto output = arguments.has("output") ? std::optional(arguments.get("output"))
                                              : std::optional<std::string>();
  const auto repetition = train::repeat_run(arguments.get("repeat"), output);
  formats::Json json;
  json["directory"] = repetition.directory;
  json["step"] = repetition.step;
  return tell(repetition.comparison, "[repeat]", text("step ", repetition.step), std::move(json));
}

int run_verify_resume(const Arguments& arguments, const train::RunConfig& config) {
  refuse(arguments, "verify-resume",
         {"output", "resume", "allow-changed-data", "dry-run", "seeds", "folds"});
  if (!config.grid.empty()) {
    throw UsageError("weft train: --verify-resume takes one run, this config has a grid");
  }
  constexpr int64_t kMost = 1'000'000'000;
  const auto proof = train::verify_resume(config, arguments.integer("steps", kSteps, 2, kMost));
  formats::Json json;
  json["steps"] = proof.steps;
  json["new_process_after"] = proof.half;
  return tell(proof.comparison, "[resume]",
              text(proof.steps, " steps, and ", proof.half, " + a new process + ",
                   proof.steps - proof.half),
              std::move(json));
}

}  // namespace weft::cli
