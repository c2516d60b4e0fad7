#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/distributed/launch_environment.h"

namespace weft::train {

/// Ranks that cannot continue together: `rank 2 (host b) did not answer at step 1200 in
/// reduce-scatter: timed out after 5 min 00 s`. The group is lost; only a new one helps.
class DistributedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ProcessGroupOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of meeting and of each collective
  /// Of connecting to the others after all have met, if it is less than the timeout.
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(1);
  /// Of a collective once a stop was requested: before launchers kill, which is 30 s for most.
  std::chrono::milliseconds stop_timeout = std::chrono::seconds(15);
};

/// The processes that train together, over c10d with Gloo, for tensors of GPUs with NCCL. All ranks
/// must make the same calls in the same order, with tensors of the same size and type: c10d cannot
/// report a difference as an error, hence `require_same`. With one rank every call returns at once.
/// Calls throw DistributedError when a rank died (after about 2 s) or did not answer within the
/// timeout. For one thread.
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
  int local_rank() const;  // among them
  bool is_main() const { return rank() == 0; }

  /// Puts the ranks of each machine into a group of their own. A collective. Throws UserError
  /// unless all machines have as many ranks, numbered machine by machine; DistributedError.
  void divide_by_machine();
  /// The ranks that divide one copy of the model among themselves: all, after `divide_by_machine`
  /// those of this machine.
  ProcessGroup& shard_group();
  /// The ranks that have the same part of the model: only this one, after `divide_by_machine` one
  /// of each machine.
  ProcessGroup& replica_group();

  /// Throws UserError unless tensors of the device can be exchanged: those of GPUs need NCCL.
  void require_support(const c10::Device& device) const;

  /// Throws UserError on every rank unless all have the same value: `what` and the values.
  void require_same(std::string_view what, const std::string& value);

  /// A collective on a contiguous 1-D slice that runs in the background: rank r has the elements
  /// [r part, (r + 1) part) of it, the last ranks fewer or none. Several may run at a time; all
  /// ranks must start them in the same order. The slice must not be read or changed until it is
  /// finished.
  class Transfer;

  /// Starts to sum the slice over the ranks. `finish_reduce_scatter` returns the sum of this rank's
  /// part, fp32 for 16-bit types. It does not depend on what slice an element is part of: terms are
  /// added as by `ordered_sum`. Sends half as many bytes as Gloo's own reduce-scatter.
  Transfer start_reduce_scatter(const at::Tensor& slice, int64_t part);
  at::Tensor finish_reduce_scatter(Transfer& transfer);

  /// Starts to copy each rank's part of the slice to all ranks, in place.
  Transfer start_all_gather(const at::Tensor& slice, int64_t part);
  void finish_all_gather(Transfer& transfer);

  /// Sends the first sent[0] elements of the contiguous 1-D slice to rank 0, the next sent[1] to
  /// rank 1, and so on. Returns what the ranks have sent to this one, in their order: received[r]
  /// elements of rank r.
  at::Tensor all_to_all(const at::Tensor& slice,
                        std::vector<int64_t> sent,
                        std::vector<int64_t> received);

  /// Sends a contiguous 1-D slice to one rank, which must receive it. In order.
  void send(const at::Tensor& slice, int to);
  void receive(const at::Tensor& slice, int from);

  /// Sums a few numbers, in the order of the ranks: the same bits on every rank.
  std::vector<double> sum(std::vector<double> values);

  /// The sum of a count below 2^53.
  int64_t sum_count(int64_t count) {
    return static_cast<int64_t>(sum({static_cast<double>(count)}).front());
  }

  /// Whether the condition holds on any rank: what only one notices, all must act on.
  bool any(bool condition) { return sum({condition ? 1.0 : 0.0}).front() > 0; }

  /// Each rank's bytes, of any length, on all ranks.
  std::vector<std::string> gather(const std::string& bytes);

  /// Copies the contiguous 1-D slice of rank 0 to all ranks.
  void broadcast(const at::Tensor& slice);

  enum class MayBeLate { kMain, kAll };

  /// Waits until all ranks have arrived. Those that may be late may take longer than the timeout,
  /// rank 0 as long as its process answers, others as long as they live. `what` names in errors
  /// what they do meanwhile.
  void barrier(std::string_view what, MayBeLate may_be_late = MayBeLate::kMain);

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

  /// Seconds that this rank has spent waiting for others so far.
  double waited_seconds() const;

 private:
  struct Group;
  explicit ProcessGroup(std::unique_ptr<Group> group);
  std::unique_ptr<ProcessGroup> part(const std::string& name, int index, int size);

  std::unique_ptr<Group> group_;
};

/// A collective in the background.
class ProcessGroup::Transfer {
 public:
  struct State;
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  friend class ProcessGroup;
  std::shared_ptr<State> state_;
};

/// The group of one rank.
ProcessGroup& single_process();

}  // namespace weft::train
