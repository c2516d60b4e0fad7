#include "train/train.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/config_changes.h"
#include "train/device.h"
#include "train/run_directory.h"
#include "train/trainer.h"

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

std::optional<Resumable> find_start(const RunDirectory& directory, const TrainRequest& request) {
  switch (request.resume) {
    case Resume::kNever:
      return std::nullopt;
    case Resume::kFrom:
      return open_checkpoint(request.from);
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

void log_start(const RunConfig& config,
               const Task& task,
               const Trainer& trainer,
               const std::string& setting) {
  log::info(text("[run] ", versions(), ", ", setting, ", seed ", config.run.seed));
  log::info(text("[run] config ", hex(digest(config.resolved)), ", data ",
                 hex(task.data.train->fingerprint()), ", tokenizer ",
                 hex(task.tokenizer->fingerprint())));
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

  const auto device = choose_device(config.run.device);
  const auto threads = set_threads(config.train.threads);
  const auto precision = choose_precision(
      config.train.precision, from ? std::optional(from->state.precision) : std::nullopt,
      config.model.dim, device);
  auto task = prepare_task(config, from ? std::optional(from->directory) : std::nullopt, device);
  Trainer trainer(config, directory, task,
                  {.device = device,
                   .precision = precision.type,
                   .threads = threads,
                   .allows_changed_data = request.allows_changed_data},
                  from);
  log_start(config, task, trainer,
            text(device.str(), ", ", threads, " threads, ", precision_name(precision.type), " (",
                 precision.reason, ")"));
  trainer.run(request.on_step);
  log::info(text("[run] done: ", trainer.state().clock.steps, " steps, ",
                 with_commas(trainer.state().clock.tokens), " tokens, ",
                 time_span(60 * trainer.state().clock.minutes), "; ", directory.path()));
}

}  // namespace weft::train
