#include "train/run/repeat.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "config/section.h"
#include "formats/json.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/determinism.h"
#include "train/run/train.h"
#include "train/step/trainer.h"

namespace weft::train {

namespace {

namespace fs = std::filesystem;

RunConfig config_of(const std::string& run, const RunRecord& record, const std::string& output) {
  const auto path = run + "/config.yaml";
  if (digest_file(path) != record.config) {
    throw UserError(path + ": is not the config that the run began with: it cannot be repeated");
  }
  const auto device = record.machine.device.starts_with("cuda") ? "cuda" : "cpu";
  const auto config = read_run_config(config::Document::load(
      path, {"run.directory=" + formats::Json(output).dump(), text("run.device=", device),
             text("train.threads=", record.machine.threads),
             text("train.precision=", record.precision)}));
  if (const auto key = clock_key(config.train); !key.empty()) {
    throw UserError(text(path, ": ", key,
                         ": the clock decided what this run did: it cannot be "
                         "repeated"));
  }
  return config;
}

/// What the run goes by is what it went by; where the machine is another one, a warning.
void expect_same(const RunRecord& before, const RunRecord& now) {
  const auto demand = [&](uint64_t a, uint64_t b, const char* what) {
    if (a != b) {
      throw UserError(text("weft train --repeat: ", what, " not those of the run (checksum ",
                           hex(b), ", there ", hex(a), "); paths of its config begin at ",
                           before.directory));
    }
  };
  demand(before.data, now.data, "the training data are");
  demand(before.evaluation_data, now.evaluation_data, "the evaluation data are");
  demand(before.tokenizer, now.tokenizer, "the pieces of the tokenizer are");
  if (!(before.machine == now.machine)) {
    log::warning(
        text("[repeat] the run was made by another machine or version: ", to_text(before.machine)));
  }
  demand(before.weights, now.weights, "the first weights are");
}

}  // namespace

Repetition repeat_run(const std::string& path, const std::optional<std::string>& output) {
  const auto run = path.substr(0, std::max<std::size_t>(1, path.find_last_not_of('/') + 1));
  const auto record = read_run_record(run);
  Repetition result;
  result.directory = output.value_or(run + "-repeat");
  std::error_code ignored;
  if (fs::equivalent(run, result.directory, ignored)) {
    throw UserError(result.directory + ": is the run itself, give another --output");
  }
  const auto config = config_of(run, record, result.directory);
  const auto last = newest_valid_checkpoint(run);
  if (!last) {
    throw UserError(run + ": holds no whole checkpoint to compare with");
  }
  result.step = last->state.clock.steps;
  for (const auto& other : record.continued) {
    if (other.config != record.config) {
      throw UserError(text(run, ": went on at step ", other.step,
                           " with another config: it cannot be repeated"));
    }
  }
  bool is_there = false;
  try {
    run_training(config, {.on_step =
                              [&](const TrainState& state) {
                                is_there = state.clock.steps >= result.step;
                                if (is_there && !Trainer::is_finished(state, config.train)) {
                                  request_stop(true);
                                }
                              },
                          .on_start = [&](const RunRecord& now) { expect_same(record, now); }});
  } catch (const Stopped&) {
    if (!is_there) {
      throw;
    }
  }
  request_stop(false);
  result.comparison = compare_runs(run, result.directory, result.step);
  return result;
}

}  // namespace weft::train
