#pragma once

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault_injection.h"
#include "base/log.h"
#include "base/stop.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/run_directory.h"
#include "train/run/train.h"

namespace weft::test {

/// How a training in a separate process ended: the exit status of the program, or 128 + signal.
inline constexpr int kDone = 0;
inline constexpr int kInternal = 1;
inline constexpr int kUser = 2;
inline constexpr int kKilled = 128 + SIGKILL;
inline constexpr int kStopped = 143;

/// A training in a separate process.
struct ChildTraining {
  std::string plan = {};               // of faults
  std::function<void()> prepare = {};  // before it
  std::function<void()> end = {};      // after it, however it ended
  train::TrainRequest request = {};
};

/// Starts a training in a forked process; what it logs goes to `log_path`. The caller's process
/// must never have trained: threads do not survive a fork. How many calls the plan struck is left
/// in
/// `<log>.struck`, unless the process was killed.
inline pid_t start_training(const train::RunConfig& config,
                            const std::string& log_path,
                            const ChildTraining& training = {}) {
  const pid_t child = ::fork();
  if (child != 0) {
    return child;
  }
  const int log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(log, STDERR_FILENO);
  log::set_level(log::Level::kInfo);
  int status = kDone;
  try {
    install_signal_handlers();
    if (training.prepare) {
      training.prepare();
    }
    fault::set_plan(training.plan);
    train::run_training(config, training.request);
  } catch (const UserError& error) {
    log::error(error.what());
    status = kUser;
  } catch (const Stopped& stopped) {
    log::warning(stopped.what());
    status = kStopped;
  } catch (const std::exception& error) {
    log::error(error.what());
    status = kInternal;
  }
  std::ofstream(log_path + ".struck") << fault::injected();
  if (training.end) {
    training.end();
  }
  ::_exit(status);
}

inline int wait_for(pid_t child) {
  int raw = 0;
  ::waitpid(child, &raw, 0);
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

/// Step of the latest complete checkpoint as a resuming process finds it; nullopt: none.
inline std::optional<int64_t> newest_step(const std::string& run) {
  const train::RunDirectory directory(run);
  directory.remove_leftovers();
  const auto found = train::newest_valid_checkpoint(run);
  return found ? std::optional(found->state.progress.steps) : std::nullopt;
}

}  // namespace weft::test
