#include "train/distributed/process_group.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/error.h"
#include "base/string_util.h"
#include "train/distributed/failure_report.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Work = c10::intrusive_ptr<c10d::Work>;

// Gloo is fastest with several calls of 1 to 4 MiB at a time: larger ones are copied.
constexpr int64_t kPieceBytes = 4 << 20;
constexpr std::size_t kInFlight = 4;
constexpr milliseconds kLeaveTime(3000);
constexpr milliseconds kLongestPoll(50);

std::string duration(milliseconds time) {
  return format_duration(static_cast<double>(time.count()) / 1000.0);
}

void check_slice(const at::Tensor& slice) {
  TORCH_CHECK(slice.dim() == 1 && slice.is_contiguous(),
              "ProcessGroup expects a contiguous slice (N), got sizes ", slice.sizes(),
              ", strides ", slice.strides());
}

/// Cuts a slice into pieces; all but the last divide by the number of ranks.
std::vector<at::Tensor> pieces_of(const at::Tensor& slice, int size) {
  const int64_t most = std::max<int64_t>(kPieceBytes / slice.element_size() / size, 1) * size;
  std::vector<at::Tensor> pieces;
  for (int64_t begin = 0; begin < slice.numel(); begin += most) {
    pieces.push_back(slice.narrow(0, begin, std::min(most, slice.numel() - begin)));
  }
  return pieces;
}

/// Runs start(i), middle(i), finish(i) for i in 0 .. count-1, each kInFlight items behind the one
/// before: in the same order on every rank.
template <class Start, class Middle, class Finish>
void pipeline(std::size_t count, const Start& start, const Middle& middle, const Finish& finish) {
  const std::size_t delay = std::min(kInFlight, count);
  for (std::size_t item = 0; item < count + 2 * delay; ++item) {
    if (item < count) {
      start(item);
    }
    if (item >= delay && item - delay < count) {
      middle(item - delay);
    }
    if (item >= 2 * delay) {
      finish(item - 2 * delay);
    }
  }
}

/// One piece of an ordered all-reduce: an all-to-all brings every rank the terms of its own part,
/// the rank adds them, an all-gather distributes the sums. Sends as many bytes as a ring.
struct Reduction {
  at::Tensor piece;
  at::Tensor padded;    // the piece, with a length that divides by the number of ranks
  at::Tensor received;  // (ranks, part)
  Work work;
};

/// Adds the rows in order, 16-bit types in fp32.
at::Tensor ordered_sum(const at::Tensor& rows) {
  const bool is_short = rows.scalar_type() == at::kBFloat16 || rows.scalar_type() == at::kHalf;
  auto total = is_short ? rows.select(0, 0).to(at::kFloat) : rows.select(0, 0);
  for (int64_t row = 1; row < rows.size(0); ++row) {
    total.add_(rows.select(0, row));
  }
  return total;
}

}  // namespace

struct ProcessGroup::Group {
  LaunchEnvironment environment;
  milliseconds timeout{};
  Rendezvous meeting;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;  // null after a failure
  std::string failure;
  int64_t barriers = 0;
  int64_t comparisons = 0;

  int rank() const { return environment.rank; }
  int size() const { return environment.world_size; }
  c10d::Store& store() const { return *meeting.store; }

  void connect();
  void wait_for(const std::vector<std::string>& keys, milliseconds limit) const;
  [[noreturn]] void fail(std::string_view operation, const std::string& cause);
  void leave();

  /// Runs calls of LibTorch; their errors become a DistributedError that names ranks.
  template <class Call>
  void run(std::string_view operation, const Call& call) {
    if (gloo == nullptr) {
      throw DistributedError(failure);
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

  void start_exchange(Reduction& reduction) {
    const int64_t part = (reduction.piece.numel() + size() - 1) / size();
    reduction.padded = reduction.piece;
    if (reduction.piece.numel() != part * size()) {
      reduction.padded = at::zeros({part * size()}, reduction.piece.options());
      reduction.padded.narrow(0, 0, reduction.piece.numel()).copy_(reduction.piece);
    }
    reduction.received = at::empty_like(reduction.padded);
    std::vector<int64_t> equal_parts;
    reduction.work =
        gloo->alltoall_base(reduction.received, reduction.padded, equal_parts, equal_parts);
  }

  void add_and_gather(Reduction& reduction) {
    reduction.work->wait();
    auto own = reduction.padded.view({size(), -1}).select(0, rank());
    own.copy_(ordered_sum(reduction.received.view({size(), -1})));
    reduction.received.reset();
    reduction.work = gloo->_allgather_base(reduction.padded, own);
  }

  static void finish(Reduction& reduction) {
    reduction.work->wait();
    if (!reduction.padded.is_same(reduction.piece)) {
      reduction.piece.copy_(reduction.padded.narrow(0, 0, reduction.piece.numel()));
    }
    reduction = {};
  }

  /// Row r of the result: the slice of rank r.
  at::Tensor all_gather(at::Tensor own) const {
    auto all = at::empty({size() * own.numel()}, own.options());
    gloo->_allgather_base(all, own)->wait();
    return all.view({size(), -1});
  }
};

void ProcessGroup::Group::connect() {
  meeting = meet(environment, timeout);
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  if (std::getenv("GLOO_SOCKET_IFNAME") != nullptr) {
    options = c10d::ProcessGroupGloo::Options::create_default(timeout);
  } else {
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(own_address(environment.host)));
  }
  options->threads = static_cast<int>(kInFlight);
  gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>("gloo", meeting.store), rank(), size(), options);
}

/// Polls, because a wait of the store would not notice that a rank left.
void ProcessGroup::Group::wait_for(const std::vector<std::string>& keys, milliseconds limit) const {
  const auto deadline = Clock::now() + limit;
  for (milliseconds pause(1); !store().check(keys); pause = std::min(pause * 2, kLongestPoll)) {
    if (leavers(store()) > 0 && !store().check(keys)) {
      throw std::runtime_error("connection closed");
    }
    if (Clock::now() >= deadline) {
      throw std::runtime_error("timed out after " + duration(limit));
    }
    std::this_thread::sleep_for(pause);
  }
}

void ProcessGroup::Group::fail(std::string_view operation, const std::string& cause) {
  // Closes the connections, so that all other ranks fail now and report it. Waits for threads of
  // Gloo that may still be in a call, hence in a thread of its own.
  std::thread([lost = std::exchange(gloo, nullptr)]() mutable { lost.reset(); }).detach();
  const bool is_timeout = cause.find("imed out") != std::string::npos;
  failure = failure_report(meeting, rank(), operation,
                           is_timeout && !cause.starts_with("timed out")
                               ? "timed out after " + duration(timeout)
                               : cause);
  throw DistributedError(failure);
}

void ProcessGroup::Group::leave() {
  if (gloo == nullptr) {
    return;
  }
  gloo.reset();
  try {
    report_leaving(store(), rank());
    const auto deadline = Clock::now() + kLeaveTime;
    while (environment.serves_store && leavers(store()) < size() && Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(2));
    }
  } catch (const std::exception&) {
    // The store is gone, with the ranks that would have read it.
  }
}

std::unique_ptr<ProcessGroup> ProcessGroup::join(const LaunchEnvironment& environment,
                                                 const ProcessGroupOptions& options) {
  auto group = std::make_unique<Group>();
  group->environment = environment;
  group->timeout = options.timeout;
  if (environment.world_size > 1) {
    prepare_failure_report(environment.rank);
    try {
      group->connect();
    } catch (const UserError&) {
      throw;
    } catch (const DistributedError&) {
      throw;
    } catch (const std::exception& error) {
      throw DistributedError(
          str_cat("rank ", environment.rank, " cannot connect to the others: ", cause_of(error)));
    }
  }
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(group)));
}

ProcessGroup::ProcessGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

ProcessGroup::~ProcessGroup() { group_->leave(); }

int ProcessGroup::rank() const { return group_->rank(); }

int ProcessGroup::size() const { return group_->size(); }

int ProcessGroup::local_size() const { return group_->environment.local_world_size; }

void ProcessGroup::set_step(int64_t step) { set_reported_step(step); }

void ProcessGroup::require_same(std::string_view what, const std::string& value) {
  if (size() == 1) {
    return;
  }
  std::vector<std::string> values;
  group_->run(str_cat("comparison of ", what), [&] {
    const std::string key = str_cat("same/", group_->comparisons++, "/");
    group_->store().set(key + std::to_string(rank()), value);
    std::vector<std::string> keys;
    for (int other = 0; other < size(); ++other) {
      keys.push_back(key + std::to_string(other));
    }
    group_->wait_for(keys, group_->timeout);
    for (const auto& each : keys) {
      values.push_back(group_->store().get_to_str(each));
    }
  });
  const auto other = std::find_if(values.begin(), values.end(),
                                  [&](const auto& each) { return each != values.front(); });
  if (other != values.end()) {
    throw UserError(str_cat(what, ": must be the same on all ranks, is ",
                            quoted_text(values.front()), " on rank 0 and ", quoted_text(*other),
                            " on rank ", other - values.begin()));
  }
}

void ProcessGroup::all_reduce(at::Tensor slice) {
  check_slice(slice);
  if (size() == 1) {
    return;
  }
  const at::NoGradGuard no_grad;
  std::vector<Reduction> reductions;
  for (auto& piece : pieces_of(slice, size())) {
    reductions.push_back({std::move(piece), {}, {}, {}});
  }
  group_->run("all-reduce", [&] {
    pipeline(
        reductions.size(), [&](std::size_t item) { group_->start_exchange(reductions[item]); },
        [&](std::size_t item) { group_->add_and_gather(reductions[item]); },
        [&](std::size_t item) { Group::finish(reductions[item]); });
  });
}

std::vector<double> ProcessGroup::sum(std::vector<double> values) {
  if (size() == 1 || values.empty()) {
    return values;
  }
  group_->run("sum", [&] {
    const auto own = at::tensor(values, at::kDouble);
    const auto total = ordered_sum(group_->all_gather(own)).contiguous();
    std::copy_n(total.const_data_ptr<double>(), values.size(), values.begin());
  });
  return values;
}

std::vector<std::string> ProcessGroup::gather(const std::string& bytes) {
  if (size() == 1) {
    return {bytes};
  }
  std::vector<std::string> result;
  group_->run("gather", [&] {
    const auto length = at::full({1}, static_cast<int64_t>(bytes.size()), at::kLong);
    const auto lengths = group_->all_gather(length).view({-1});
    const auto longest = std::max<int64_t>(lengths.max().item<int64_t>(), 1);
    auto own = at::zeros({longest}, at::kByte);
    std::memcpy(own.data_ptr(), bytes.data(), bytes.size());
    const auto all = group_->all_gather(own);
    for (int other = 0; other < size(); ++other) {
      const auto* const row = reinterpret_cast<const char*>(all[other].const_data_ptr<uint8_t>());
      result.emplace_back(row, static_cast<std::size_t>(lengths[other].item<int64_t>()));
    }
  });
  return result;
}

void ProcessGroup::broadcast(at::Tensor slice, int root) {
  check_slice(slice);
  TORCH_CHECK(root >= 0 && root < size(), "root must be a rank below ", size(), ", got ", root);
  if (size() == 1) {
    return;
  }
  const at::NoGradGuard no_grad;
  const auto pieces = pieces_of(slice, size());
  std::vector<Work> works(pieces.size());
  group_->run("broadcast", [&] {
    pipeline(
        pieces.size(),
        [&](std::size_t item) {
          c10d::BroadcastOptions options;
          options.rootRank = root;
          std::vector<at::Tensor> tensors{pieces[item]};
          works[item] = group_->gloo->broadcast(tensors, options);
        },
        [](std::size_t) {}, [&](std::size_t item) { works[item]->wait(); });
  });
}

void ProcessGroup::barrier(std::string_view what, milliseconds timeout) {
  if (size() == 1) {
    return;
  }
  group_->run(what, [&] {
    const std::string key = str_cat("barrier/", group_->barriers++);
    if (group_->store().add(key, 1) == size()) {
      group_->store().set(key + "/go", std::string("1"));
    }
    group_->wait_for({key + "/go"}, timeout);
  });
}

ProcessGroup& single_process() {
  static const auto group = ProcessGroup::join({});
  return *group;
}

}  // namespace weft::train
