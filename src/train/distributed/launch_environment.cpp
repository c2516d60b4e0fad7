#include "train/distributed/launch_environment.h"

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "base/string_util.h"

namespace weft::train {
namespace {

constexpr int kFirstSlurmPort = 15000;
constexpr int kSlurmPorts = 10000;

class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) : values_(values) {}

  /// Empty if it is not set.
  std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }

  bool has(const std::string& name) const { return !text(name).empty(); }

  /// An integer in [lowest, highest]; nullopt if it is not set.
  std::optional<int> number(const std::string& name,
                            int lowest = 0,
                            int highest = std::numeric_limits<int>::max()) const {
    const std::string value = text(name);
    if (value.empty()) {
      return std::nullopt;
    }
    int result = 0;
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, result);
    if (parsed.ec != std::errc() || parsed.ptr != end || result < lowest || result > highest) {
      const std::string limit = highest == std::numeric_limits<int>::max()
                                    ? str_cat("of at least ", lowest)
                                    : str_cat("from ", lowest, " to ", highest);
      throw UserError(str_cat("environment variable ", name, ": ", quoted_text(value),
                              " is not an integer ", limit));
    }
    return result;
  }

 private:
  const std::map<std::string, std::string>& values_;
};

/// The variables of one launcher.
struct Names {
  std::string launcher, rank, world_size, local_rank, local_world_size;
};

const Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
const Names kOpenMpi{"MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
// srun sets SLURM_STEP_NUM_TASKS; a batch script has SLURM_PROCID and SLURM_NTASKS too, but is one
// process.
const Names kSlurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
const Names kOtherMpi{"MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

/// Which launcher started this process; null: none.
const Names* launcher_of(const Variables& variables) {
  if (variables.has("RANK") || variables.has("WORLD_SIZE")) {
    return &kTorchrun;
  }
  // mpirun may start its processes through srun, whose variables then describe something else.
  for (const Names* const names : {&kOpenMpi, &kSlurm, &kOtherMpi}) {
    if (variables.has(names->world_size)) {
      return names;
    }
  }
  return nullptr;
}

/// Tasks on this node from `2(x3),1`, the counts of all nodes.
std::optional<int> slurm_local_size(const Variables& variables) {
  const std::string counts = variables.text("SLURM_STEP_TASKS_PER_NODE");
  int node = variables.number("SLURM_NODEID").value_or(0);
  for (const auto entry : split(counts, ',')) {
    int tasks = 0;
    int nodes = 1;
    std::from_chars(entry.data(), entry.data() + entry.size(), tasks);
    if (const auto times = entry.find("(x"); times != std::string_view::npos) {
      std::from_chars(entry.data() + times + 2, entry.data() + entry.size(), nodes);
    }
    if (node < nodes) {
      return tasks > 0 ? std::optional<int>(tasks) : std::nullopt;
    }
    node -= nodes;
  }
  return std::nullopt;
}

struct Address {
  std::string host;
  int port;
};

/// The address of the store; the defaults are those of torchrun, and in Slurm the first node of
/// the step and a port that depends on job and step.
Address read_address(const Variables& variables, bool in_slurm) {
  Address address{LaunchEnvironment().host, LaunchEnvironment().port};
  if (in_slurm) {
    const std::string step_nodes = variables.text("SLURM_STEP_NODELIST");
    const std::string nodes =
        step_nodes.empty() ? variables.text("SLURM_JOB_NODELIST") : step_nodes;
    address.host = nodes.empty() ? address.host : first_node(nodes);
    if (const auto job = variables.number("SLURM_JOB_ID")) {
      const int step = variables.number("SLURM_STEP_ID").value_or(0) % kSlurmPorts;
      address.port = kFirstSlurmPort + (*job % kSlurmPorts + step) % kSlurmPorts;
    }
  }
  if (variables.has("MASTER_ADDR")) {
    address.host = variables.text("MASTER_ADDR");
  }
  address.port = variables.number("MASTER_PORT", 1, 65535).value_or(address.port);
  return address;
}

void check(const LaunchEnvironment& environment, const Names& names) {
  if (environment.rank >= environment.world_size) {
    throw UserError(str_cat("environment variable ", names.rank, ": ", environment.rank,
                            " must be less than ", names.world_size, ", ", environment.world_size));
  }
  if (environment.local_rank >= environment.local_world_size) {
    throw UserError(str_cat("environment variable ", names.local_rank, ": ", environment.local_rank,
                            " must be less than the number of processes of this machine, ",
                            environment.local_world_size));
  }
  if (environment.local_world_size > environment.world_size) {
    throw UserError(str_cat("environment variable ", names.local_world_size, ": ",
                            environment.local_world_size, " must be at most ", names.world_size,
                            ", ", environment.world_size));
  }
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string first_node(std::string_view node_list) {
  const auto end = node_list.find_first_of("[,");
  std::string name(node_list.substr(0, end));
  if (end == std::string_view::npos || node_list[end] == ',') {
    return name;
  }
  const auto closing = node_list.find(']', end);
  if (closing == std::string_view::npos) {
    throw UserError(str_cat("node list of Slurm: ", quoted_text(node_list), " has no closing ]"));
  }
  const auto first = node_list.find_first_of(",-]", end);
  name += node_list.substr(end + 1, first - end - 1);
  return name + first_node(node_list.substr(closing + 1));  // a suffix, or another bracket
}

LaunchEnvironment read_launch_environment(const std::map<std::string, std::string>& values) {
  const Variables variables(values);
  LaunchEnvironment environment;
  const Names* const names = launcher_of(variables);
  if (names == nullptr) {
    return environment;
  }
  const auto rank = variables.number(names->rank);
  const auto world_size = variables.number(names->world_size, 1);
  if (!rank || !world_size) {
    const auto& [set, missing] = rank ? std::pair(names->rank, names->world_size)
                                      : std::pair(names->world_size, names->rank);
    throw UserError(str_cat("environment variable ", missing, ": is not set, but ", set, " is ",
                            variables.text(set)));
  }
  const bool is_torchrun = names == &kTorchrun;
  environment.rank = *rank;
  environment.world_size = *world_size;
  environment.launcher =
      is_torchrun && !variables.has("TORCHELASTIC_RUN_ID") ? "" : names->launcher;
  const auto [host, port] = read_address(variables, !is_torchrun);
  environment.host = host;
  environment.port = port;
  // Without a word about machines: all ranks are on this one if its store is.
  const bool is_local = is_loopback(environment.host);
  const auto local_world_size =
      names == &kSlurm ? slurm_local_size(variables) : variables.number(names->local_world_size, 1);
  environment.local_rank =
      variables.number(names->local_rank).value_or(is_local ? environment.rank : 0);
  environment.local_world_size =
      local_world_size.value_or(is_local ? environment.world_size : environment.local_rank + 1);
  environment.serves_store =
      environment.rank == 0 && variables.text("TORCHELASTIC_USE_AGENT_STORE") != "True";
  check(environment, *names);
  if (is_local && !variables.has("MASTER_ADDR") &&
      environment.local_world_size < environment.world_size) {
    throw UserError(str_cat(
        "environment variable MASTER_ADDR: ", environment.host, " is this machine, but ",
        environment.world_size - environment.local_world_size, " of ", environment.world_size,
        " processes run on others; set it to the machine of rank 0"));
  }
  return environment;
}

LaunchEnvironment read_launch_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return read_launch_environment(variables);
}

}  // namespace weft::train
