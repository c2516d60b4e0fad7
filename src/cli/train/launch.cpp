#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "base/system_calls.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace weft::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kUserError = 2;        // starting again would not help
constexpr int kStoppedStatus = 143;  // also of a rank that SIGTERM has ended
constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr auto kReportTime = std::chrono::seconds(5);    // in which survivors report a failed rank
constexpr auto kGracePeriod = std::chrono::seconds(30);  // to save, between SIGTERM and SIGKILL

/// What every rank of the run is started with.
struct Launch {
  int ranks = 1;  // of this machine
  int nodes = 1;
  int node_rank = 0;
  std::string host = "127.0.0.1";
  int port = 0;
  std::vector<std::string> command;
};

int rank_of(const Launch& launch, int local_rank) {
  return launch.node_rank * launch.ranks + local_rank;
}

struct Child {
  pid_t process = 0;
  int rank = 0;
  std::optional<int> status = std::nullopt;  // once it has ended; 128 + signal
};

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool is_bound = socket >= 0 &&
                        ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!is_bound) {
    throw std::runtime_error(str_cat("launch: no free port: ", std::strerror(errno)));
  }
  system_calls::close(socket, "socket");
  return ntohs(address.sin_port);
}

/// The variables that torchrun sets, so that a rank need not know what started it.
std::vector<std::string> environment_of(const Launch& launch, int local_rank) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  const auto set = [&](std::string_view name, const auto& value) {
    std::erase_if(variables, [&](const std::string& variable) {
      return variable.starts_with(str_cat(name, "="));
    });
    variables.push_back(str_cat(name, "=", value));
  };
  set("RANK", rank_of(launch, local_rank));
  set("WORLD_SIZE", launch.nodes * launch.ranks);
  set("LOCAL_RANK", local_rank);
  set("LOCAL_WORLD_SIZE", launch.ranks);
  set("MASTER_ADDR", launch.host);
  set("MASTER_PORT", launch.port);
  set("TORCHELASTIC_USE_AGENT_STORE", "False");
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

Child start_rank(const Launch& launch, int local_rank) {
  auto command = launch.command;
  auto environment = environment_of(launch, local_rank);
  const auto arguments = pointers_to(command);
  const auto variables = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    throw std::runtime_error(str_cat("launch: cannot start a process: ", std::strerror(errno)));
  }
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // no rank outlives the launcher
    if (::getppid() == parent) {
      ::execve("/proc/self/exe", arguments.data(), variables.data());
    }
    ::_exit(127);
  }
  return {.process = process, .rank = rank_of(launch, local_rank)};
}

void signal_all(const std::vector<Child>& children, int signal) {
  for (const auto& child : children) {
    if (!child.status) {
      ::kill(child.process, signal);
    }
  }
}

void collect_ended(std::vector<Child>& children) {
  for (auto& child : children) {
    int status = 0;
    if (!child.status && ::waitpid(child.process, &status, WNOHANG) == child.process) {
      child.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

/// Waits for all ranks. Returns the status of the first that failed, else 0; the others then get
/// some time to report, SIGTERM, and at last SIGKILL. A request to stop is passed on.
int wait_for(std::vector<Child>& children) {
  int result = 0;
  std::optional<Clock::time_point> failed_at;
  std::optional<Clock::time_point> terminated_at;
  for (;;) {
    collect_ended(children);
    for (const auto& child : children) {
      if (child.status.value_or(0) != 0 && !failed_at) {
        result = *child.status;
        failed_at = Clock::now();
        if (!terminated_at && result != kStoppedStatus) {
          log::warning(str_cat("[launch] rank ", child.rank, " ended with status ", result));
        }
      }
    }
    if (std::all_of(children.begin(), children.end(),
                    [](const Child& child) { return child.status.has_value(); })) {
      return result;
    }
    const auto now = Clock::now();
    const bool stops = stop_requested() || (failed_at && now - *failed_at > kReportTime);
    if (stops && !terminated_at) {
      signal_all(children, SIGTERM);
      terminated_at = now;
    }
    if (terminated_at && now - *terminated_at > kGracePeriod) {
      signal_all(children, SIGKILL);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

int run_ranks(const Launch& launch) {
  std::vector<Child> children;
  try {
    for (int local_rank = 0; local_rank < launch.ranks; ++local_rank) {
      children.push_back(start_rank(launch, local_rank));
    }
  } catch (const std::exception&) {
    signal_all(children, SIGKILL);
    wait_for(children);
    throw;
  }
  return wait_for(children);
}

/// Cuts the command for the ranks, from `--` on, off the arguments.
std::vector<std::string> take_command(std::vector<std::string>& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> command = {"weft"};
  if (separator != arguments.end()) {
    command.insert(command.end(), separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
  }
  return command;
}

Launch read_launch(const Arguments& parsed, std::vector<std::string> command) {
  if (command.size() < 2) {
    throw UsageError(
        "weft launch: no command after --, must be: weft launch --ranks N -- train CONFIG");
  }
  std::vector<Command> startable;
  std::copy_if(commands().begin(), commands().end(), std::back_inserter(startable),
               [](const Command& each) { return each.runs_on_ranks; });
  find_entry(startable, command[1], "weft launch: --");
  Launch launch{.command = std::move(command)};
  launch.ranks = static_cast<int>(parsed.integer("ranks", 1, 1, 1024));
  launch.nodes = static_cast<int>(parsed.integer("nodes", 1, 1, 1 << 16));
  launch.node_rank = static_cast<int>(parsed.integer("node-rank", 0, 0, launch.nodes - 1));
  launch.port = static_cast<int>(parsed.integer("master-port", 0, 1, 65535));
  if (parsed.has("master-addr")) {
    launch.host = parsed.get("master-addr");
  }
  if (launch.nodes > 1 && (!parsed.has("master-addr") || !parsed.has("master-port"))) {
    throw UsageError(
        "weft launch: --nodes needs --master-addr and --master-port: the address of node 0 and a "
        "free port there, the same on all nodes");
  }
  return launch;
}

}  // namespace

int run_launch(std::vector<std::string> arguments) {
  Arguments parsed(
      {.usage = "weft launch --ranks N [options] -- COMMAND [arguments]",
       .description =
           "Starts the ranks of one training run, each a process with its share of every step. The "
           "run computes what one process would: the same data order, the same losses. Evaluate, "
           "predict, generate, score and embed divide their input among the ranks. torchrun "
           "--no-python, srun and mpirun can start all of these as well.",
       .examples = {"weft launch --ranks 4 -- train config.yaml",
                    "weft launch --ranks 2 --nodes 2 --node-rank 1 --master-addr 10.0.0.1 "
                    "--master-port 29500 -- train config.yaml",
                    "weft launch --ranks 4 -- predict runs/spam --input mails.jsonl --output "
                    "answers.jsonl"}},
      0, 0);
  parsed.value("ranks", "N", "Number of ranks on this machine")
      .value("nodes", "N", "Number of machines; this command runs on each of them")
      .value("node-rank", "N", "Number of this machine, from 0")
      .value("master-addr", "HOST", "Address of machine 0")
      .value("master-port", "PORT", "Free port of machine 0")
      .value("restarts", "N",
             "Number of times that failed ranks are started again; the run resumes from its last "
             "checkpoint");
  auto command = take_command(arguments);
  if (!parsed.parse(arguments)) {
    return 0;
  }
  auto launch = read_launch(parsed, std::move(command));
  const bool chooses_port = launch.port == 0;
  for (auto restarts = parsed.integer("restarts", 0, 0, 1'000'000);; --restarts) {
    if (chooses_port) {
      launch.port = free_port();
    }
    const int status = run_ranks(launch);
    if (stop_requested()) {
      return kStoppedStatus;
    }
    // Stopped: by a signal to one of the ranks.
    if (status == 0 || status == kUserError || status == kStoppedStatus || restarts == 0) {
      return status;
    }
    log::warning(
        str_cat("[launch] starting all ranks again, ",
                restarts == 1 ? "for the last time" : counted(restarts - 1, "restart") + " left"));
  }
}

}  // namespace weft::cli
