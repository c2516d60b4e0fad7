#include "train/run/reproduce.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
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
    throw UserError(
        path +
        ": differs from the config at the start of the run, which therefore cannot be reproduced");
  }
  const auto device = record.machine.device.starts_with("cuda") ? "cuda" : "cpu";
  const auto config = read_run_config(config::Document::load(
      path, {"run.directory=" + formats::Json(output).dump(), str_cat("run.device=", device),
             str_cat("train.threads=", record.machine.threads),
             str_cat("train.precision=", record.precision)}));
  if (const auto key = wall_clock_key(config.train); !key.empty()) {
    throw UserError(
        str_cat(path, ": ", key, ": the run depends on wall-clock time and cannot be reproduced"));
  }
  return config;
}

/// Checks that the inputs of the run are the same; warns if the machine differs.
void check_same_inputs(const RunRecord& before, const RunRecord& now) {
  const auto require = [&](uint64_t a, uint64_t b, const char* what) {
    if (a != b) {
      throw UserError(str_cat("weft train --reproduce: ", what, " not those of the run (checksum ",
                              to_hex(b), ", in the run ", to_hex(a),
                              "); relative paths of its config start at ", before.directory));
    }
  };
  require(before.data, now.data, "the training data are");
  require(before.evaluation_data, now.evaluation_data, "the evaluation data are");
  require(before.tokenizer, now.tokenizer, "the tokenizer's pieces are");
  if (!(before.machine == now.machine)) {
    log::warning(str_cat("[reproduce] the run was made on a different machine or version: ",
                         to_text(before.machine)));
  }
  require(before.weights, now.weights, "the initial weights are");
}

}  // namespace

void train_up_to(const RunConfig& config,
                 int64_t step,
                 const std::function<void(const RunRecord&)>& on_start) {
  bool has_reached_step = false;
  const auto stop_at_step = [&](const TrainState& state) {
    has_reached_step = state.progress.steps >= step;
    if (has_reached_step && !Trainer::is_finished(state, config.train)) {
      request_stop(true);
    }
  };
  try {
    run_training(config, {.on_step = stop_at_step, .on_start = on_start});
  } catch (const Stopped&) {
    if (!has_reached_step) {
      throw;
    }
  }
  request_stop(false);
}

Reproduction reproduce_run(const std::string& path, const std::optional<std::string>& output) {
  const auto run = path.substr(0, std::max<std::size_t>(1, path.find_last_not_of('/') + 1));
  const auto record = read_run_record(run);
  Reproduction result;
  result.directory = output.value_or(run + "-repeat");
  std::error_code ignored;
  if (fs::equivalent(run, result.directory, ignored)) {
    throw UserError(result.directory + ": is the run itself, choose another --output");
  }
  const auto config = config_of(run, record, result.directory);
  const auto last = newest_valid_checkpoint(run);
  if (!last) {
    throw UserError(run + ": no complete checkpoint to compare with");
  }
  result.step = last->state.progress.steps;
  for (const auto& other : record.resumes) {
    if (other.config != record.config) {
      throw UserError(str_cat(run, ": resumed at step ", other.step,
                              " with a different config: the run cannot be reproduced"));
    }
  }
  train_up_to(config, result.step, [&](const RunRecord& now) { check_same_inputs(record, now); });
  result.comparison = compare_runs(run, result.directory, result.step);
  return result;
}

}  // namespace weft::train
