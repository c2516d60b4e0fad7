#pragma once

#include <chrono>
#include <exception>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/distributed/backends.h"
#include "train/distributed/failure_report.h"
#include "train/distributed/process_group.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {

/// How the ranks of a group, or of a part of it, reach each other, wait and fail together.
struct Connections {
  Rendezvous meeting;
  BackendPtr gloo = {};                // null after a failure, and with one rank
  BackendPtr nccl = {};                // null before the first tensor of a GPU
  LaunchEnvironment environment = {};  // of a part: rank and world size are those in the part
  ProcessGroupOptions options = {};
  Connections* whole = nullptr;          // of all ranks, if these are of a part
  std::vector<Connections*> parts = {};  // which must not outlive it
  std::future<std::string> query =
      {};  // whether a rank failed; in flight while the store is silent
  std::chrono::steady_clock::time_point query_began = {};
  std::string failure = {};
  double waited_seconds = 0;  // of all parts

  int rank() const { return environment.rank; }
  int size() const { return environment.world_size; }
  Connections& root() { return whole == nullptr ? *this : *whole; }

  /// Gloo, or NCCL for a tensor of a GPU.
  c10d::Backend& backend_of(const at::Tensor& slice);

  /// Waits until the work has ended. Throws also if a rank has failed, or does not answer within
  /// `stop_timeout` once a stop was requested.
  void wait(const WorkPtr& work, bool is_on_gpu, std::chrono::milliseconds stop_timeout);
  void wait(const WorkPtr& work, bool is_on_gpu = false) {
    wait(work, is_on_gpu, options.stop_timeout);
  }

  /// Closes all connections, also of the parts, and tells all ranks. Throws DistributedError.
  [[noreturn]] void fail(std::string_view operation, const std::string& cause);

  /// Closes them when no more calls follow.
  void leave();

  /// Runs calls of LibTorch; their errors become a DistributedError that names ranks.
  template <class Call>
  void run(std::string_view operation, const Call& call) {
    if (gloo == nullptr) {
      throw DistributedError(root().failure);
    }
    std::string cause;
    try {
      call();
      return;
    } catch (const std::exception& error) {
      cause = cause_of(error);
    }
    fail(operation, cause);
  }

  /// Row r of the result: the slice of rank r.
  at::Tensor all_gather(at::Tensor own);

 private:
  void wait_or_throw(const WorkPtr& work, bool is_on_gpu, std::chrono::milliseconds stop_timeout);
  std::vector<BackendPtr> take_backends();
};

/// Meets all ranks and connects to them. Throws exceptions of c10d, UserError, DistributedError.
Connections connect(const LaunchEnvironment& environment, const ProcessGroupOptions& options);

/// Connects to the ranks of a part of `whole`, which all call this with the same name, each with
/// its index. Throws DistributedError.
void connect_part(
    Connections& whole, Connections& part, const std::string& name, int index, int size);

}  // namespace weft::train
