#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weft::train {

/// This process among those that train together, as its launcher describes it.
struct LaunchEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the processes of this machine; the index of its GPU
  int local_world_size = 1;
  std::string host = "127.0.0.1";  // where the store of the rendezvous listens
  int port = 29500;
  bool serves_store = true;  // rank 0, unless the launcher has a store of its own
  std::string launcher;      // torchrun, Slurm or MPI; empty: none, or variables set by hand
};

/// Reads the variables of, in this order: torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, ...,
/// also set by hand), Open MPI, srun, other MPI launchers. Without any, one process. The variables
/// of a Slurm batch script outside srun are ignored: it is a single process. Throws UserError if
/// variables are missing or contradict each other.
LaunchEnvironment read_launch_environment(const std::map<std::string, std::string>& variables);

/// The same for the variables of this process.
LaunchEnvironment read_launch_environment();

/// First name of a Slurm node list: `gpu[010-012,20],login` -> `gpu010`.
std::string first_node(std::string_view node_list);

/// Whether `host` means this machine: `localhost`, `127.*`, `::1`.
bool is_loopback(std::string_view host);

}  // namespace weft::train
