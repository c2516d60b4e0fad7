#include "train/run/train.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "data/row_selection.h"
#include "models/config/family_definition.h"
#include "train/checkpoint/checkpoint.h"
#include "train/optimizer/train_options.h"
#include "train/run/determinism.h"
#include "train/run/device.h"
#include "train/run/ranks.h"
#include "train/run/run_directory.h"
#include "train/step/evaluation_driver.h"
#include "train/step/out_of_memory.h"
#include "train/step/trainer.h"

namespace weft::train {

namespace {

// Closes the log file when the run's scope ends, in any way.
class LogFile {
 public:
  explicit LogFile(const std::string& path) : path_(path) { log::open_file(path); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { log::close_file(path_); }

  /// What ends the run, which is shown on standard error once this file is closed.
  void record_end(log::Level level, const std::exception& cause) const {
    log::write_to_file(path_, level, cause.what());
  }

 private:
  std::string path_;
};

void compare_configs(const RunConfig& config, const ResumePoint& from, bool allows_changed_data) {
  const auto before = read_file(from.directory + "/weft.yaml");
  std::vector<std::string> refused;
  for (const auto& change : config_changes(before, config.resolved)) {
    const auto words = str_cat(change.key, " was ", change.before, ", is ", change.after);
    const bool is_allowed = allows_changed_data && change.key.starts_with("data.");
    if (is_allowed || may_change(change.key)) {
      log::warning("[run] changed since the checkpoint: " + words);
    } else {
      refused.push_back(words);
    }
  }
  if (!refused.empty()) {
    throw UserError(str_cat(
        from.directory,
        ": the run cannot be resumed because config keys have changed: ", join(refused, "; "),
        " (change them back, choose another --output, or restart with --resume never)"));
  }
}

// The run may roll back to it, even if no save was due at its step.
ResumePoint open_external_checkpoint(const std::string& path) {
  auto found = open_checkpoint(path);
  found.state.rollbacks.save_steps = {found.state.progress.steps};
  return found;
}

std::optional<ResumePoint> find_resume_point(const RunDirectory& directory,
                                             const TrainRequest& request) {
  switch (request.resume) {
    case Resume::kNever:
      return std::nullopt;
    case Resume::kFrom:
      return open_external_checkpoint(request.from);
    case Resume::kAuto:
      break;
  }
  auto found = newest_valid_checkpoint(directory.path());
  if (!found && !checkpoint_steps(directory.path()).empty()) {
    log::warning("[run] no complete checkpoint: training starts from scratch");
  }
  return found;
}

void log_finished(const RunConfig& config, const ResumePoint& from) {
  const auto what =
      is_over(from.state.progress, config.train.duration)
          ? "reached its duration of " + config::to_string(config.train.duration)
          : str_cat("stopped early after ", from.state.early_stopping.num_bad_evaluations,
                    " evaluations without improvement");
  log::info(str_cat("[run] finished: ", from.directory, " ", what, ", nothing to do"));
}

RunRecord record_of(const RunConfig& config,
                    const RunComponents& components,
                    const Trainer& trainer,
                    uint64_t weights,
                    const RunMachine& machine) {
  return {.machine = machine,
          .precision = trainer.state().precision,
          .directory = std::filesystem::current_path().string(),
          .config = digest(config.resolved),
          .data = components.data.train->fingerprint(),
          .evaluation_data = trainer.state().evaluation_data,
          .tokenizer = components.tokenizer->fingerprint(),
          .weights = weights};
}

// Records what is needed to reproduce the run, in its log and in run.json.
void record_start(const RunConfig& config,
                  const TrainRequest& request,
                  const RunRecord& record,
                  const std::optional<ResumePoint>& from) {
  log::info(str_cat("[run] ", to_text(record.machine)));
  log::info(str_cat("[run] seed ", config.run.seed));
  log::debug(str_cat("[run] checksums: config ", to_hex(record.config), ", data ",
                     to_hex(record.data), ", evaluation data ", to_hex(record.evaluation_data),
                     ", tokenizer ", to_hex(record.tokenizer), ", ", from ? "" : "initial ",
                     "weights ", to_hex(record.weights)));
  if (!request.group->is_main()) {
    return;
  }
  if (from) {
    record_resume(
        config.run.directory,
        {.step = from->state.progress.steps, .config = record.config, .machine = record.machine});
    return;
  }
  if (request.on_start) {
    request.on_start(record);
  }
  write_run_record(config.run.directory, record);
}

void log_model(const RunConfig& config, const Trainer& trainer, const std::string& precision) {
  const auto& flat_parameters = trainer.flat_parameters();
  if (flat_parameters.parameters() == 0) {
    const auto& options = trainer.checkpoint_parts().model.options();
    for (const auto& [name, value] : options.family->describe(options)) {
      log::info(str_cat("[model] ", name, " ", value));
    }
    return;
  }
  log::info("[run] precision " + precision);
  const auto all = with_commas(flat_parameters.parameters());
  log::info(flat_parameters.trained_parameters() == flat_parameters.parameters()
                ? str_cat("[model] ", all, " parameters")
                : str_cat("[model] ", with_commas(flat_parameters.trained_parameters()), " of ",
                          all, " parameters are trainable"));
  const auto [low, high] = std::minmax_element(
      flat_parameters.segments().begin(), flat_parameters.segments().end(),
      [](const auto& a, const auto& b) { return a.settings.lr_scale < b.settings.lr_scale; });
  if (low->settings.lr_scale != high->settings.lr_scale) {
    log::info(str_cat(std::setprecision(3), "[optimizer] learning rates by layer",
                      config.train.optimizer.groups.empty() ? "" : " and group", ": from ",
                      config.train.optimizer.lr * low->settings.lr_scale, " to ",
                      config.train.optimizer.lr * high->settings.lr_scale));
  }
}

// The config with the rows of its split: those that the checkpoint records, else new ones, which
// the run directory records.
RunConfig with_recorded_rows(const RunConfig& config,
                             const RunDirectory& directory,
                             const TrainRequest& request,
                             const std::optional<ResumePoint>& from) {
  auto recorded = from ? data::read_split_record(from->directory) : std::nullopt;
  if (recorded && request.allows_changed_data) {
    log::warning("[data] --allow-changed-data: the rows are split anew");
    recorded.reset();
  }
  auto selected = select_rows(config, recorded);
  if (!directory.is_writable()) {
    return std::move(selected.config);
  }
  if (selected.record) {
    data::write_split_record(directory.path(), *selected.record);
  } else {
    remove_quietly(directory.path() + data::kSplitRecord);
  }
  if (!config.data.has_evaluation() && config.train.evaluate_every) {
    log::info(str_cat("[data] nothing will be evaluated: set data.evaluate to files",
                      config.objective->traits(config.model).reads_rows
                          ? ", or data.split.evaluate to a part of the training rows"
                          : ""));
  }
  return std::move(selected.config);
}

// Trains one part of the run, from a checkpoint or from scratch.
void train_from(const RunConfig& config,
                const RunDirectory& directory,
                const TrainRequest& request,
                const std::optional<ResumePoint>& from,
                const std::optional<StateKeptAcrossRollback>& kept) {
  const bool is_counted = models::capabilities_of(config.model.family).is_counted;
  const auto device = is_counted ? c10::Device(c10::kCPU) : choose_device(config.run.device);
  auto& group = *request.group;
  group.require_support(device);
  if (is_counted && group.size() > 1) {
    throw UserError(str_cat("model.type: ", models::word_of(config.model.family),
                            " is estimated by one process, run it without ranks"));
  }
  const auto threads = set_threads(config.train.threads, group.local_size());
  const auto precision = choose_precision(
      config.train.precision, from ? std::optional(from->state.precision) : std::nullopt,
      config.model, device);
  set_determinism(config.run.deterministic, device, precision.type, threads);
  auto components =
      prepare_on_ranks(config, from ? std::optional(from->directory) : std::nullopt, device, group);
  const auto weights = digest_of_weights(*components.model);
  Trainer trainer(config, directory, components,
                  {.device = device,
                   .precision = precision.type,
                   .threads = threads,
                   .allows_changed_data = request.allows_changed_data,
                   .after_rollback = kept,
                   .group = request.group,
                   .pause_at = request.pause_at},
                  from);
  const auto machine = describe_machine(device.str(), threads);
  const auto record = record_of(config, components, trainer, weights, machine);
  require_same_run(group, record);
  record_start(config, request, record, from);
  log_model(config, trainer, str_cat(precision_name(precision.type), " (", precision.reason, ")"));
  if (trainer.flat_parameters().trained_parameters() > 0) {
    const auto warning = check_run_length(config.train, [&] { return trainer.steps_per_epoch(); });
    if (warning && group.is_main()) {
      log::warning("[run] " + *warning);
    }
  }
  trainer.run(request.on_step);
  const bool is_finished = Trainer::is_finished(trainer.state(), config.train);
  log::info(str_cat(
      "[run] ", request.pause_at && !is_finished ? "paused" : "done", ": ",
      trainer.state().progress.steps, " steps, ", with_commas(trainer.state().progress.tokens),
      " tokens, ", format_duration(60 * trainer.state().progress.minutes), "; ", directory.path()));
}

// Out of memory anywhere but in a step: weights, optimizer, an evaluation, the data.
void rethrow_as_out_of_memory(const std::exception& error) {
  if (const auto shortage = memory_shortage_in(error)) {
    throw OutOfMemoryError(
        str_cat("train: out of memory outside a step: ", describe(*shortage),
                "; weft inspect CONFIG shows the memory of weights, gradients and optimizer"));
  }
}

// Latest checkpoint that is good and valid; all later ones are marked as superseded. `external`: a
// checkpoint outside the run, from which it started.
std::optional<ResumePoint> last_good_checkpoint(const RollbackRequested& back,
                                                const RunDirectory& directory,
                                                const std::optional<ResumePoint>& external) {
  for (const auto step : back.candidates()) {
    directory.mark_superseded_after(step);
    auto found = newest_valid_checkpoint(directory.path());
    if (found && found->state.progress.steps == step) {
      return found;
    }
    if (external && external->state.progress.steps == step) {
      return external;
    }
  }
  directory.mark_superseded_after(-1);
  return std::nullopt;
}

// Checkpoint to roll back to, and the state that is kept.
std::pair<std::optional<ResumePoint>, StateKeptAcrossRollback> plan_rollback(
    const RollbackRequested& back,
    const RunConfig& config,
    const RunDirectory& directory,
    const std::optional<ResumePoint>& external) {
  auto start = last_good_checkpoint(back, directory, external);
  const auto& options = config.train.rollback;
  auto kept = back.state_after(start ? start->state.progress.steps : 0,
                               start ? start->state.cursor : data::DataPosition{}, options.skip);
  log::warning(str_cat("[run] rollback ", kept.rollbacks.count, " of ", options.max_rollbacks,
                       ": back to ", start ? start->directory : "the start", ", skipping ",
                       options.skip == RollbackSkip::kBatch ? "the data of the failed step"
                                                            : "all data since then"));
  return {std::move(start), std::move(kept)};
}

// The directory of a run and where it starts.
struct OpenRun {
  std::unique_ptr<RunDirectory> directory;
  std::unique_ptr<LogFile> log_file;  // of the main rank
  std::optional<ResumePoint> from;
  bool is_finished = false;
};

OpenRun open_run(const RunConfig& config, const TrainRequest& request) {
  const bool is_main = request.group->is_main();
  OpenRun run;
  run.directory = std::make_unique<RunDirectory>(config.run.directory,
                                                 is_main ? RunAccess::kWrite : RunAccess::kRead);
  const auto& directory = *run.directory;
  directory.remove_leftovers();
  if (request.resume == Resume::kNever) {
    directory.reject_inputs(config.resolved);
    if (!checkpoint_steps(directory.path()).empty()) {
      log::warning(
          str_cat("[run] --resume never: the earlier run in ", directory.path(), " is replaced"));
    }
    directory.clear();
  }
  if (is_main) {
    run.log_file = std::make_unique<LogFile>(directory.path() + "/train.log");
  }
  run.from = find_resume_point(directory, request);
  if (!run.from) {
    directory.mark_superseded_after(-1);
    return run;
  }
  compare_configs(config, *run.from, request.allows_changed_data);
  directory.mark_superseded_after(run.from->state.progress.steps);
  run.is_finished =
      Trainer::is_finished(run.from->state, config.train) && !run.from->state.pending_evaluation;
  return run;
}

void train_in(const OpenRun& run, const RunConfig& config, const TrainRequest& request) {
  auto& group = *request.group;
  const auto& directory = *run.directory;
  const auto& from = run.from;
  group.require_same("checkpoint to resume from",
                     from ? str_cat("step ", from->state.progress.steps) : "none");
  if (run.is_finished) {
    log_finished(config, *from);
    return;
  }
  if (from) {
    log::info(str_cat("[run] resuming from ", from->directory));
  } else if (!config.defaults.empty()) {
    log::info("[run] " + config.defaults);
  }
  if (group.is_main()) {
    write_file(directory.path() + "/config.yaml", config.resolved);
  }

  const auto selected = with_recorded_rows(config, directory, request, from);
  const auto external = request.resume == Resume::kFrom ? from : std::nullopt;
  auto start = from;
  std::optional<StateKeptAcrossRollback> kept;
  for (;;) {
    try {
      train_from(selected, directory, request, start, kept);
      return;
    } catch (const RollbackRequested& back) {
      std::tie(start, kept) = group.main_first("the rollback on rank 0", [&] {
        return plan_rollback(back, config, directory, external);
      });
    } catch (const UserError&) {
      throw;
    } catch (const OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      rethrow_as_out_of_memory(error);
      throw;
    }
  }
}

}  // namespace

void run_training(const RunConfig& config, const TrainRequest& request) {
  reject_test_metric(config.train);
  auto& group = *request.group;
  group.require_same("config", to_hex(digest(config.resolved)));
  divide_ranks(config.train.ranks, group);
  const auto run = group.main_first("the opening of the run directory on rank 0",
                                    [&] { return open_run(config, request); });
  const auto record = [&](log::Level level, const std::exception& cause) {
    if (run.log_file) {
      run.log_file->record_end(level, cause);
    }
  };
  try {
    train_in(run, config, request);
  } catch (const Stopped& stop) {
    record(log::Level::kWarning, stop);
    throw;
  } catch (const std::exception& error) {
    record(log::Level::kError, error);
    throw;
  }
}

}  // namespace weft::train
