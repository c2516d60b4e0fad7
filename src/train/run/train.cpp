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
#include "base/text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/config_changes.h"
#include "train/run/determinism.h"
#include "train/run/device.h"
#include "train/run/run_directory.h"
#include "train/step/out_of_memory.h"
#include "train/step/trainer.h"

namespace weft::train {

namespace {

// Ends the log's file when the run's scope ends, however it ends.
class LogFile {
 public:
  explicit LogFile(const std::string& path) { log::open_file(path); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { log::close_file(); }
};

void compare_configs(const RunConfig& config, const Resumable& from, bool allows_changed_data) {
  const auto before = read_file(from.directory + "/weft.yaml");
  std::vector<std::string> refused;
  for (const auto& change : config_changes(before, config.resolved)) {
    const auto words = text(change.key, " was ", change.before, ", is ", change.after);
    const bool is_allowed = allows_changed_data && change.key.starts_with("data.");
    if (is_allowed || may_change(change.key)) {
      log::warning("[run] changed since the checkpoint: " + words);
    } else {
      refused.push_back(words);
    }
  }
  if (!refused.empty()) {
    throw UserError(
        text(from.directory, ": the run cannot go on with another ", join(refused, "; "),
             " (set it back, or give another --output, or begin anew with --resume never)"));
  }
}

// A run may go back to it as to its own, whatever it was saved for.
Resumable from_elsewhere(const std::string& path) {
  auto found = open_checkpoint(path);
  found.state.rollbacks.due = {found.state.clock.steps};
  return found;
}

std::optional<Resumable> find_start(const RunDirectory& directory, const TrainRequest& request) {
  switch (request.resume) {
    case Resume::kNever:
      return std::nullopt;
    case Resume::kFrom:
      return from_elsewhere(request.from);
    case Resume::kAuto:
      break;
  }
  auto found = newest_valid_checkpoint(directory.path());
  if (!found && !checkpoint_steps(directory.path()).empty()) {
    log::warning("[run] no checkpoint is whole: the run begins anew");
  }
  return found;
}

void log_finished(const RunConfig& config, const Resumable& from) {
  const auto what = is_over(from.state.clock, config.train.duration)
                        ? "is at the end of " + config::to_string(config.train.duration)
                        : text("was stopped early, after ", from.state.patience.waited,
                               " evaluations that were no better");
  log::info(text("[run] finished: ", from.directory, " ", what, ", nothing to do"));
}

RunRecord record_of(const RunConfig& config,
                    const Task& task,
                    const Trainer& trainer,
                    const RunMachine& machine) {
  const auto weights = trainer.arena().master().cpu();
  return {.machine = machine,
          .precision = trainer.state().precision,
          .directory = std::filesystem::current_path().string(),
          .config = digest(config.resolved),
          .data = task.data.train->fingerprint(),
          .evaluation_data = trainer.state().evaluation_data,
          .tokenizer = task.tokenizer->fingerprint(),
          .weights = digest(weights.const_data_ptr(), weights.nbytes())};
}

// What is needed to repeat the run, in its log and beside it.
void note_start(const RunConfig& config,
                const TrainRequest& request,
                const RunRecord& record,
                const std::optional<Resumable>& from) {
  log::info(text("[run] ", to_text(record.machine)));
  log::info(text("[run] seed ", config.run.seed, ", config ", hex(record.config), ", data ",
                 hex(record.data), ", evaluation data ", hex(record.evaluation_data),
                 ", tokenizer ", hex(record.tokenizer), ", ", from ? "" : "first ", "weights ",
                 hex(record.weights)));
  if (from) {
    note_continuation(
        config.run.directory,
        {.step = from->state.clock.steps, .config = record.config, .machine = record.machine});
    return;
  }
  if (request.on_start) {
    request.on_start(record);
  }
  write_run_record(config.run.directory, record);
}

void log_model(const RunConfig& config, const Trainer& trainer, const std::string& precision) {
  log::info("[run] precision " + precision);
  const auto& arena = trainer.arena();
  const auto all = with_commas(arena.parameters());
  log::info(arena.trained_parameters() == arena.parameters()
                ? text("[model] ", all, " parameters")
                : text("[model] ", with_commas(arena.trained_parameters()), " of ", all,
                       " parameters are trained"));
  const auto [low, high] =
      std::minmax_element(arena.segments().begin(), arena.segments().end(),
                          [](const auto& a, const auto& b) { return a.rate < b.rate; });
  if (low->rate != high->rate) {
    log::info(text(std::setprecision(3), "[optimizer] learning rates by layer: from ",
                   config.train.optimizer.lr * low->rate, " to ",
                   config.train.optimizer.lr * high->rate));
  }
}

// One stretch of the run, from a checkpoint or the beginning.
void train_from(const RunConfig& config,
                const RunDirectory& directory,
                const TrainRequest& request,
                const std::optional<Resumable>& from,
                const std::optional<Outlasting>& kept) {
  const auto device = choose_device(config.run.device);
  const auto threads = set_threads(config.train.threads);
  const auto precision = choose_precision(
      config.train.precision, from ? std::optional(from->state.precision) : std::nullopt,
      config.model.dim, device);
  set_determinism(config.run.deterministic, device, precision.type, threads);
  auto task = prepare_task(config, from ? std::optional(from->directory) : std::nullopt, device);
  Trainer trainer(config, directory, task,
                  {.device = device,
                   .precision = precision.type,
                   .threads = threads,
                   .allows_changed_data = request.allows_changed_data,
                   .after_rollback = kept},
                  from);
  const auto machine = describe_machine(device.str(), threads);
  note_start(config, request, record_of(config, task, trainer, machine), from);
  log_model(config, trainer, text(precision_name(precision.type), " (", precision.reason, ")"));
  trainer.run(request.on_step);
  log::info(text("[run] done: ", trainer.state().clock.steps, " steps, ",
                 with_commas(trainer.state().clock.tokens), " tokens, ",
                 time_span(60 * trainer.state().clock.minutes), "; ", directory.path()));
}

// Memory that ran out anywhere but in a step: weights, optimizer, an evaluation, the data.
void tell_sizes(const std::exception& error) {
  if (const auto shortage = shortage_of(error)) {
    throw DoesNotFit(
        text("train: out of memory outside a step: ", words(*shortage),
             "; what weights, gradients and optimizer take, weft inspect CONFIG tells"));
  }
}

// The latest checkpoint that is good and whole; all later ones are set aside. `outside`: a
// checkpoint of elsewhere, with which the run began.
std::optional<Resumable> good_checkpoint(const RollBack& back,
                                         const RunDirectory& directory,
                                         const std::optional<Resumable>& outside) {
  for (const auto step : back.candidates()) {
    directory.set_aside_after(step);
    auto found = newest_valid_checkpoint(directory.path());
    if (found && found->state.clock.steps == step) {
      return found;
    }
    if (outside && outside->state.clock.steps == step) {
      return outside;
    }
  }
  directory.set_aside_after(-1);
  return std::nullopt;
}

// Where a run goes back to, and what it takes along.
std::pair<std::optional<Resumable>, Outlasting> way_back(const RollBack& back,
                                                         const RunConfig& config,
                                                         const RunDirectory& directory,
                                                         const std::optional<Resumable>& outside) {
  auto start = good_checkpoint(back, directory, outside);
  const auto& options = config.train.rollback;
  auto kept = back.after(start ? start->state.clock.steps : 0,
                         start ? start->state.cursor : data::Cursor{}, options.leaves_out);
  log::warning(text("[run] rollback ", kept.rollbacks.count, " of ", options.most, " at most: to ",
                    start ? start->directory : "the beginning", ", without ",
                    options.leaves_out == LeavesOut::kBatch ? "the data of the bad step"
                                                            : "all data since then"));
  return {std::move(start), std::move(kept)};
}

}  // namespace

void run_training(const RunConfig& config, const TrainRequest& request) {
  const RunDirectory directory(config.run.directory);
  directory.remove_leftovers();
  if (request.resume == Resume::kNever && !checkpoint_steps(directory.path()).empty()) {
    log::warning(
        text("[run] --resume never: the earlier run in ", directory.path(), " is replaced"));
  }
  if (request.resume == Resume::kNever) {
    directory.clear();
  }
  const LogFile log_file(directory.path() + "/train.log");
  const auto from = find_start(directory, request);
  if (from) {
    compare_configs(config, *from, request.allows_changed_data);
    directory.set_aside_after(from->state.clock.steps);
    if (Trainer::is_finished(from->state, config.train) && !from->state.owes_evaluation) {
      log_finished(config, *from);
      return;
    }
    log::info(text("[run] goes on from ", from->directory));
  } else {
    directory.set_aside_after(-1);
  }
  write_file(directory.path() + "/config.yaml", config.resolved);

  const auto outside = request.resume == Resume::kFrom ? from : std::nullopt;
  auto start = from;
  std::optional<Outlasting> kept;
  for (;;) {
    try {
      train_from(config, directory, request, start, kept);
      return;
    } catch (const RollBack& back) {
      std::tie(start, kept) = way_back(back, config, directory, outside);
    } catch (const UserError&) {
      throw;
    } catch (const DoesNotFit&) {
      throw;
    } catch (const std::exception& error) {
      tell_sizes(error);
      throw;
    }
  }
}

}  // namespace weft::train
