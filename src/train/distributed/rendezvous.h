#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "train/distributed/launch_environment.h"

namespace weft::train {

/// What the ranks share after they have met.
struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;  // keys of this meeting only
  std::vector<std::string> hosts;         // name of the machine of each rank
};

/// Connects to the store and waits for all ranks. They agree on a random token, the prefix of all
/// keys: the store may be the launcher's and have the keys of a run that it restarted. Throws
/// UserError if the port is in use, DistributedError if ranks are missing after `timeout`.
Rendezvous meet(const LaunchEnvironment& environment, std::chrono::milliseconds timeout);

/// Random digits that no other process has. Not a function of the seed, on purpose: two runs with
/// the same seed must not meet.
std::string random_name();

/// Address of this machine in the network that leads to `host`; empty if there is none. The address
/// of this machine's name would not do: many systems map it to 127.0.1.1.
std::string own_address(const std::string& host);

}  // namespace weft::train
