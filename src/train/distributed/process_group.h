#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/distributed/launch_environment.h"

namespace weft::train {

/// Ranks that cannot continue together: `rank 2 (host b) did not answer at step 1200 in all-reduce:
/// timed out after 5 min 00 s`. The group is lost; only a new one helps.
class DistributedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ProcessGroupOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of joining and of each collective
};

/// The processes that train together, over c10d and Gloo. All ranks must make the same calls in the
/// same order, with tensors of the same size and type: Gloo cannot report a difference as an error,
/// hence `require_same`. With one rank every call returns at once. Calls throw DistributedError
/// when a rank died (after about 2 s) or did not answer within the timeout. For one thread.
class ProcessGroup {
 public:
  /// Waits for all ranks. Throws DistributedError if some did not come, UserError if the port is
  /// in use. GLOO_SOCKET_IFNAME, if set, selects the network interface.
  static std::unique_ptr<ProcessGroup> join(const LaunchEnvironment& environment,
                                            const ProcessGroupOptions& options = {});
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  /// Leaves; the rank that serves the store waits up to 3 s until the others have left.
  ~ProcessGroup();

  int rank() const;
  int size() const;
  int local_size() const;  // ranks on this machine
  bool is_main() const { return rank() == 0; }

  /// Throws UserError on every rank unless all have the same value: `what` and the values.
  void require_same(std::string_view what, const std::string& value);

  /// Sums a contiguous 1-D slice over the ranks, in place. The sum of an element does not depend on
  /// the slice it is part of: terms are added in the order of the ranks, bf16 and fp16 in fp32 with
  /// one rounding.
  void all_reduce(at::Tensor slice);

  /// Sums a few numbers, in the order of the ranks: the same bits on every rank.
  std::vector<double> sum(std::vector<double> values);

  /// Whether the condition holds on any rank: what only one notices, all must act on.
  bool any(bool condition) { return sum({condition ? 1.0 : 0.0}).front() > 0; }

  /// Each rank's bytes, of any length, on all ranks.
  std::vector<std::string> gather(const std::string& bytes);

  /// Copies the contiguous 1-D slice of `root` to all ranks.
  void broadcast(at::Tensor slice, int root = 0);

  /// Waits until all ranks have arrived, without a collective: for work that one rank does alone
  /// and that may take longer than the timeout of the group. `what` names it in errors.
  void barrier(std::string_view what, std::chrono::milliseconds timeout = std::chrono::days(365));

  /// Does the work on rank 0 first, then on the others, which find what it left on disk. Returns
  /// the result of this rank.
  template <class Work>
  auto main_first(std::string_view what, const Work& work) {
    if (!is_main()) {
      barrier(what);
    }
    auto result = work();
    if (is_main()) {
      barrier(what);
    }
    return result;
  }

  /// The step that error messages name.
  void set_step(int64_t step);

 private:
  struct Group;
  explicit ProcessGroup(std::unique_ptr<Group> group);

  std::unique_ptr<Group> group_;
};

/// The group of one rank.
ProcessGroup& single_process();

}  // namespace weft::train
