#include <cerrno>
#include <csignal>
#include <exception>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "base/system_calls.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/determinism.h"
#include "train/run/reproduce.h"

namespace weft::train {

namespace {

constexpr int kFailed = 1;

/// Trains until the step, or the run's end, in a process of its own.
[[noreturn]] void train_and_exit(const RunConfig& config, int64_t step, const std::string& log) {
  const int file = system_calls::open(log, O_WRONLY | O_CREAT | O_TRUNC);
  if (file < 0 || ::dup2(file, STDERR_FILENO) < 0) {
    ::_exit(kFailed);
  }
  try {
    train_up_to(config, step);
  } catch (const Stopped&) {
    ::_exit(kFailed);
  } catch (const std::exception& error) {
    log::error(error.what());
    ::_exit(kFailed);
  }
  ::_exit(0);
}

std::string last_log_line(const std::string& log) {
  const auto content = read_file(log);
  std::string words;
  for (const auto line : split(content, '\n')) {
    words = trim(line).empty() ? words : std::string(line);
  }
  return words.empty() ? "no message" : words;
}

void train_in_child(const RunConfig& config, int64_t step, const std::string& log) {
  const auto child = ::fork();
  if (child < 0) {
    throw UserError("weft train --verify-resume: cannot start another process");
  }
  if (child == 0) {
    train_and_exit(config, step, log);
  }
  int status = 0;
  bool was_signalled = false;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (stop_requested() && !was_signalled) {
      ::kill(child, SIGTERM);
      was_signalled = true;
    }
  }
  throw_if_stopped("verifying the resume");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw UserError("weft train --verify-resume: a training failed: " + last_log_line(log));
  }
}

ResumePoint newest_checkpoint(const std::string& run) {
  auto found = newest_valid_checkpoint(run);
  if (!found) {
    throw UserError("weft train --verify-resume: this run has fewer than 2 steps");
  }
  return *std::move(found);
}

}  // namespace

ResumeCheck verify_resume(const RunConfig& config, int64_t steps) {
  if (const auto key = wall_clock_key(config.train); !key.empty()) {
    throw UserError(str_cat("weft train --verify-resume: ", key,
                            ": the run depends on wall-clock time and is not reproducible; set a "
                            "number of steps with --set"));
  }
  const TemporaryDirectory temporary("weft-resume");
  auto uninterrupted = config;
  uninterrupted.run.directory = temporary.path() + "/straight";
  auto resumed = config;
  resumed.run.directory = temporary.path() + "/parts";
  const auto log = temporary.path() + "/log";

  log::info(str_cat("[resume] ", steps, " steps in one process"));
  train_in_child(uninterrupted, steps, log);
  ResumeCheck check;
  const auto last = newest_checkpoint(uninterrupted.run.directory);
  // `auto` is measured, and two measurements may differ.
  resumed.train.precision = last.state.precision == "bf16" ? Precision::kBf16 : Precision::kFp32;
  check.steps = last.state.progress.steps;
  check.half = check.steps / 2;
  if (check.half == 0) {
    throw UserError("weft train --verify-resume: this run has fewer than 2 steps");
  }
  log::info(
      str_cat("[resume] ", check.half, " steps, then a new process up to step ", check.steps));
  train_in_child(resumed, check.half, log);
  train_in_child(resumed, check.steps, log);
  check.comparison = compare_runs(uninterrupted.run.directory, resumed.run.directory, check.steps);
  return check;
}

}  // namespace weft::train
