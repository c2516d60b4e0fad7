#include "cli/ranks.h"

#include "base/log.h"
#include "base/string_util.h"
#include "cli/shared_options.h"
#include "train/run/device.h"

namespace weft::cli {

namespace {

// A block of work may take a slow rank that long.
constexpr auto kBlockTimeout = std::chrono::minutes(30);

}  // namespace

std::unique_ptr<train::ProcessGroup> join_ranks(const train::LaunchEnvironment& launch,
                                                std::chrono::milliseconds timeout) {
  auto group = train::ProcessGroup::join(launch, {.timeout = timeout});
  if (launch.world_size > 1) {
    log::info(str_cat("[run] ", launch.world_size, " ranks",
                      launch.launcher.empty() ? "" : ", started by " + launch.launcher));
  }
  return group;
}

std::unique_ptr<train::ProcessGroup> join_ranks(const Arguments& arguments,
                                                const std::vector<std::string>& command_line) {
  const auto launch = train::read_launch_environment();
  if (launch.world_size > 1) {
    log::set_rank(launch.rank);
  }
  auto group = join_ranks(launch, kBlockTimeout);
  group->require_same("command line", join(command_line, " "));
  train::set_threads(read_threads(arguments), group->local_size());
  return group;
}

void require_input_of_all(const train::ProcessGroup& group, const Arguments& arguments) {
  if (group.size() > 1 && arguments.get("input", "-") == "-") {
    arguments.fail("several ranks cannot read standard input, must be: --input FILE");
  }
}

}  // namespace weft::cli
