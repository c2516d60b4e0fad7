#include "train/run/train.h"

#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/ranks.h"
#include "cli/train/train.h"
#include "config/duration.h"
#include "config/section.h"
#include "formats/json.h"
#include "report/report.h"
#include "train/cost/rank_plan.h"
#include "train/distributed/launch_environment.h"
#include "train/distributed/process_group.h"
#include "train/run/device.h"
#include "train/run/run_config.h"

namespace weft::cli {

namespace {

train::TrainRequest request_of(const std::string& resume) {
  if (resume == "auto") {
    return {.resume = train::Resume::kAuto};
  }
  if (resume == "never") {
    return {.resume = train::Resume::kNever};
  }
  return {.resume = train::Resume::kFrom, .from = resume};
}

constexpr std::array<double, 5> kLinks = {1, 10, 25, 100, 400};  // Gbit/s
constexpr double kUsableLink = 0.92;                             // part of the line rate

/// Memory, traffic and step times on several ranks, on machines like this one; returns the same for
/// the JSON of the forecast.
formats::Json print_rank_plan(const train::DryRunReport& forecast, int ranks) {
  const double tokens = static_cast<double>(forecast.step_tokens) / ranks;
  log::info(str_cat("[forecast] ", ranks, " machines like this one with a rank each, ",
                    with_commas(std::llround(tokens)), " tokens per rank and step; overlapped"));
  auto json = formats::Json::array();
  for (const auto& [name, sharding, sizes] :
       train::rank_plan_choices(forecast.rank_plan_sizes, forecast.expert_plan_sizes)) {
    const double memory =
        train::rank_state_bytes(sizes, sharding, ranks) + static_cast<double>(forecast.other_bytes);
    const double sent = train::rank_network_bytes(sizes, sharding, ranks, tokens);
    formats::Json row = {{"shard", sizes.experts ? "all" : name},
                         {"expert_parallel", sizes.experts.has_value()},
                         {"memory_bytes", std::llround(memory)},
                         {"network_bytes_per_step", std::llround(sent)}};
    log::info(str_cat("[forecast] shard: ", name, ": at most ", format_bytes(memory),
                      " per rank, sends ", format_bytes(sent), " per step"));
    for (const double link : kLinks) {
      const auto step = train::estimate_step(sizes, sharding, ranks, forecast.step_seconds / ranks,
                                             tokens, link * kUsableLink * 1e9 / 8);
      log::info(str_cat(
          "[forecast]   at ", link, " Gbit/s: ", std::llround(1e3 * step.seconds),
          " ms, efficiency ", std::llround(100 * step.efficiency), " %; ",
          step.tokens_for_95_percent
              ? str_cat("95 % from ", with_commas(std::llround(*step.tokens_for_95_percent)),
                        " tokens per rank")
              : "never 95 %: tokens travel to experts for longer"));
      row["links"].push_back(
          {{"gigabits_per_second", link},
           {"seconds_per_step", step.seconds},
           {"efficiency", step.efficiency},
           {"tokens_per_rank_for_95_percent",
            step.tokens_for_95_percent ? formats::Json(std::llround(*step.tokens_for_95_percent))
                                       : formats::Json()}});
    }
    json.push_back(std::move(row));
  }
  return json;
}

void print_forecast(const train::DryRunReport& forecast, int ranks) {
  log::info(str_cat("[forecast] ", with_commas(forecast.parameters), " parameters, ",
                    forecast.precision, " on ", forecast.device, ": ",
                    with_commas(forecast.step_tokens), " tokens per step, ",
                    std::llround(1e3 * forecast.step_seconds), " ms"));
  log::info(str_cat("[forecast] ", with_commas(forecast.steps), " steps: ",
                    format_duration(forecast.total_seconds), " without evaluation; memory ",
                    format_bytes(static_cast<double>(forecast.memory_bytes)), "; a checkpoint is ",
                    format_bytes(static_cast<double>(forecast.checkpoint_bytes)), ", saved in ",
                    std::llround(1e3 * forecast.save_seconds), " ms; free disk ",
                    format_bytes(static_cast<double>(forecast.free_disk_bytes))));
  formats::Json json;
  json["parameters"] = forecast.parameters;
  json["precision"] = forecast.precision;
  json["device"] = forecast.device;
  json["tokens_per_step"] = forecast.step_tokens;
  json["seconds_per_step"] = forecast.step_seconds;
  json["steps"] = forecast.steps;
  json["total_seconds"] = forecast.total_seconds;
  json["memory_bytes"] = forecast.memory_bytes;
  json["checkpoint_bytes"] = forecast.checkpoint_bytes;
  json["save_seconds"] = forecast.save_seconds;
  json["free_disk_bytes"] = forecast.free_disk_bytes;
  if (ranks > 1) {
    json["ranks"] = print_rank_plan(forecast, ranks);
  }
  std::cout << json.dump() << "\n";
}

/// Other kinds of training run in one process only.
void require_one_process(const Arguments& parsed, const train::LaunchEnvironment& launch) {
  for (const auto* option : {"reproduce", "verify-resume", "dry-run", "seeds", "folds"}) {
    if (launch.world_size > 1 && parsed.has(option)) {
      throw UsageError(str_cat("weft train: --", option,
                               " runs in one process, but this one was started as one of ",
                               launch.world_size, " ranks"));
    }
  }
}

void open_rank_log(const std::string& directory, int rank) {
  make_directories(directory);
  log::open_file(str_cat(directory, "/rank-", rank, ".log"));
}

std::chrono::milliseconds milliseconds_of(const config::Duration& duration) {
  const std::chrono::duration<double> seconds(duration.amount *
                                              config::seconds_in(duration.unit).value());
  return std::chrono::ceil<std::chrono::milliseconds>(seconds);
}

void declare_training(Arguments& arguments) {
  arguments.value("set", "KEY=VALUE", "Override a config key; may be repeated")
      .value("output", "DIR", "Run directory, instead of run.directory")
      .value("resume", "auto|never|DIR",
             "Resume from the last checkpoint (auto), restart and replace the run (never), or "
             "resume from the checkpoint DIR")
      .flag("allow-changed-data",
            "Resume even if the training data or keys below data have changed since the checkpoint")
      .flag("dry-run",
            "Run one step and one save in a temporary directory, then report expected time and "
            "memory")
      .value("ranks", "N",
             "With --dry-run: also report memory, traffic and time of a step on N machines like "
             "this one")
      .value("log-dir", "DIR", "On several ranks: each also writes its whole log to DIR/rank-N.log")
      .flag("verbose", "Also show checksums of config, data, tokenizer and initial weights");
}

}  // namespace

void write_report_if_asked(const train::RunOptions& options) {
  if (!options.report) {
    return;
  }
  try {
    const report::ReportOptions wanted{
        .inference = {.device = train::choose_device(options.device)}};
    const auto path = options.directory + "/report.html";
    report::write_page(report::make_page(report::read_report_input({options.directory}, wanted)),
                       path);
    log::info("[report] wrote " + path);
  } catch (const std::exception& error) {
    log::warning(str_cat("[report] not written: ", error.what()));
  }
}

int run_train(std::vector<std::string> arguments) {
  Arguments parsed(
      {.usage = "weft train CONFIG [options]",
       .description = "Trains a model as described by the config: pretraining, or fine-tuning if "
                      "init_from is set. If the run was interrupted, the same command resumes it.",
       .examples = {"weft train configs/quickstart_pretrain.yaml",
                    "weft train config.yaml --set train.optimizer.lr=5e-5 --output runs/lower",
                    "weft train config.yaml --seeds 5 --test test.tsv",
                    "weft train config.yaml --dry-run", "weft train config.yaml --verify-resume",
                    "weft train --reproduce runs/lower"}},
      0, 1);
  declare_training(parsed);
  declare_reproduce(parsed);
  declare_sweep(parsed);
  if (!parsed.parse(arguments)) {
    return 0;
  }
  if (parsed.has("verbose")) {
    log::set_level(log::Level::kDebug);
  }
  const auto launch = train::read_launch_environment();
  if (launch.world_size > 1) {
    log::set_rank(launch.rank);
  }
  if (parsed.has("log-dir")) {
    open_rank_log(parsed.get("log-dir"), launch.rank);
  }
  require_one_process(parsed, launch);
  if (parsed.has("reproduce")) {
    return run_reproduce(parsed);
  }
  if (parsed.positional().empty()) {
    throw UsageError("weft train: too few arguments, must be: weft train CONFIG [options]");
  }
  auto overrides = parsed.all("set");
  if (parsed.has("output")) {
    overrides.push_back("run.directory=" + formats::Json(parsed.get("output")).dump());
  }
  if (asks_for_sweep(parsed) && !parsed.has("verify-resume")) {
    return run_sweep(parsed, overrides);
  }
  const auto document = config::Document::load(parsed.positional().front(), overrides);
  // Trains in child processes: they cannot use a GPU that this process has checked.
  if (parsed.has("verify-resume")) {
    return run_verify_resume(parsed, train::read_run_config(document));
  }
  const auto config = train::check_run_config(document);
  if (parsed.has("steps")) {
    throw UsageError("weft train: --steps works only with --verify-resume");
  }
  if (!config.grid.empty()) {
    if (launch.world_size > 1) {
      throw UserError("grid: a grid search runs in one process, not on several ranks");
    }
    return run_sweep(parsed, overrides);
  }
  for (const auto* option : {"test", "json"}) {
    if (parsed.has(option)) {
      throw UsageError(str_cat(
          "weft train: --", option,
          " works only with --seeds, --folds or a grid; use `weft evaluate` for a single run"));
    }
  }
  if (parsed.has("ranks") && !parsed.has("dry-run")) {
    throw UsageError(
        "weft train: --ranks works only with --dry-run; `weft launch --ranks N -- "
        "train CONFIG` trains on several ranks");
  }
  if (parsed.has("dry-run")) {
    print_forecast(train::dry_run(config), static_cast<int>(parsed.integer("ranks", 1, 1, 4096)));
    return 0;
  }
  auto request = request_of(parsed.get("resume", "auto"));
  request.allows_changed_data = parsed.has("allow-changed-data");
  const auto group = join_ranks(launch, milliseconds_of(config.train.ranks.timeout));
  request.group = group.get();
  train::run_training(config, request);
  if (group->is_main()) {
    write_report_if_asked(config.run);
  }
  return 0;
}

}  // namespace weft::cli
