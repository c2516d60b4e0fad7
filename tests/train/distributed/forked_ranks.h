#pragma once

#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/program.h"
#include "train/distributed/launch_environment.h"
#include "train/distributed/process_group.h"

namespace weft::test {

using RankWork = std::function<std::string(const train::LaunchEnvironment&)>;

/// Runs `work` for each rank in a process of its own; returns what it returned, or the message of
/// its exception; `signal N` after a death by signal. A rank that stops itself is killed when all
/// others have ended. `ranks_per_machine`: what the ranks are told, 0 for all. The caller's process
/// must not have threads.
inline std::vector<std::string> run_in_ranks(int size,
                                             const RankWork& work,
                                             int port = free_port(),
                                             bool serves_store = true,
                                             int ranks_per_machine = 0) {
  const int local_size = ranks_per_machine == 0 ? size : ranks_per_machine;
  const TemporaryDirectory directory;
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    children.push_back(::fork());
    if (children.back() == 0) {
      at::set_num_threads(1);
      ::signal(SIGPIPE, SIG_IGN);  // as weft::run does
      std::string result;
      try {
        result = work({.rank = rank,
                       .world_size = size,
                       .local_rank = rank % local_size,
                       .local_world_size = local_size,
                       .port = port,
                       .serves_store = serves_store && rank == 0,
                       .launcher = {}});
      } catch (const std::exception& error) {
        result = error.what();
      }
      write(directory / std::to_string(rank), result);
      ::_exit(0);
    }
  }
  std::vector<std::string> results(children.size());
  const auto collect = [&](std::size_t rank, int options) {
    int status = 0;
    ::waitpid(children[rank], &status, options);
    results[rank] = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                        : contents(directory / std::to_string(rank));
    return WIFSTOPPED(status);
  };
  std::vector<std::size_t> sleeping;
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    if (collect(rank, WUNTRACED)) {
      sleeping.push_back(rank);
    }
  }
  for (const auto rank : sleeping) {
    ::kill(children[rank], SIGKILL);
    collect(rank, 0);
  }
  return results;
}

/// The same with a process group that the ranks have joined.
inline std::vector<std::string> run_in_group(
    int size,
    const std::function<std::string(train::ProcessGroup&)>& work,
    const train::ProcessGroupOptions& options = {.timeout = std::chrono::seconds(20)},
    int ranks_per_machine = 0) {
  return run_in_ranks(
      size,
      [&](const train::LaunchEnvironment& environment) {
        const auto group = train::ProcessGroup::join(environment, options);
        if (ranks_per_machine > 0) {
          group->divide_by_machine();
        }
        return work(*group);
      },
      free_port(), true, ranks_per_machine);
}

/// The same for ranks that each machine has a group of.
inline std::vector<std::string> run_on_machines(
    int machines,
    int ranks_per_machine,
    const std::function<std::string(train::ProcessGroup&)>& work) {
  return run_in_group(machines * ranks_per_machine, work, {.timeout = std::chrono::seconds(20)},
                      ranks_per_machine);
}

}  // namespace weft::test
