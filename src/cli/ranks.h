#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "train/distributed/launch_environment.h"
#include "train/distributed/process_group.h"

namespace weft::cli {

/// Joins the ranks that a launcher started, waiting for them and for each later answer up to
/// `timeout`; one process alone is a group too. Throws train::DistributedError.
std::unique_ptr<train::ProcessGroup> join_ranks(const train::LaunchEnvironment& launch,
                                                std::chrono::milliseconds timeout);

/// The same for a command that uses a model, whose threads it sets: `--threads`, or the ranks of a
/// machine divide its cores. Throws UserError if the command line is not the same on all ranks.
std::unique_ptr<train::ProcessGroup> join_ranks(const Arguments& arguments,
                                                const std::vector<std::string>& command_line);

/// Throws UsageError if several ranks would read `--input` from standard input, which only one of
/// them has.
void require_input_of_all(const train::ProcessGroup& group, const Arguments& arguments);

}  // namespace weft::cli
