#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "train/distributed/launch_environment.h"
#include "train/distributed/process_group.h"

namespace weft::cli {

/// Verbs that can run on several ranks.
const std::vector<std::string>& rank_verbs();

/// Joins the ranks that a launcher started, waiting for them and for each later answer up to
/// `timeout`; one process alone is a group too. Throws train::DistributedError.
std::unique_ptr<train::ProcessGroup> join_ranks(const train::LaunchEnvironment& launch,
                                                std::chrono::milliseconds timeout);

/// The same for a verb that uses a model. Throws UserError if the command line is not the same on
/// all ranks.
std::unique_ptr<train::ProcessGroup> join_ranks(const std::vector<std::string>& command_line);

/// Throws UsageError if several ranks would read standard input, which only one of them has.
void require_input_of_all(const train::ProcessGroup& group,
                          const Arguments& arguments,
                          const std::string& path);

}  // namespace weft::cli
