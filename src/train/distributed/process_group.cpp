#include "train/distributed/process_group.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/error.h"
#include "base/string_util.h"
#include "train/distributed/failure_report.h"
#include "train/distributed/pieces.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Work = c10::intrusive_ptr<c10d::Work>;

constexpr milliseconds kLeaveTime(3000);
constexpr milliseconds kLongestPoll(50);
constexpr milliseconds kNoticeTime(200);

/// One piece of an ordered all-reduce: an all-to-all brings every rank the terms of its own part,
/// the rank adds them, an all-gather distributes the sums. Sends as many bytes as a ring.
struct Reduction {
  at::Tensor piece;
  at::Tensor padded;    // the piece, with a length that divides by the number of ranks
  at::Tensor received;  // (ranks, part)
  Work work;
};

struct Connections {
  Rendezvous meeting;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;  // null after a failure
};

Connections connect(const LaunchEnvironment& environment, milliseconds timeout) {
  const auto meeting = meet(environment, timeout);
  meeting.store->setTimeout(timeout);
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  if (std::getenv("GLOO_SOCKET_IFNAME") != nullptr) {
    options = c10d::ProcessGroupGloo::Options::create_default(timeout);
  } else {
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(own_address(environment.host)));
  }
  options->threads = static_cast<int>(kInFlight);
  return {meeting, c10::make_intrusive<c10d::ProcessGroupGloo>(
                       c10::make_intrusive<c10d::PrefixStore>("gloo", meeting.store),
                       environment.rank, environment.world_size, options)};
}

}  // namespace

struct ProcessGroup::Group : Connections {
  LaunchEnvironment environment;
  milliseconds timeout{};
  std::future<std::string> query;  // whether a rank failed; in flight while the store is silent
  std::string failure;
  int64_t barriers = 0;
  int64_t comparisons = 0;

  int rank() const { return environment.rank; }
  int size() const { return environment.world_size; }
  c10d::Store& store() const { return *meeting.store; }

  void wait(const Work& work);
  void wait_for(std::vector<std::string> keys, milliseconds limit) const;
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
    wait(reduction.work);
    auto own = reduction.padded.view({size(), -1}).select(0, rank());
    own.copy_(ordered_sum(reduction.received.view({size(), -1})));
    reduction.received.reset();
    reduction.work = gloo->_allgather_base(reduction.padded, own);
  }

  void finish(Reduction& reduction) {
    wait(reduction.work);
    if (!reduction.padded.is_same(reduction.piece)) {
      reduction.piece.copy_(reduction.padded.narrow(0, 0, reduction.piece.numel()));
    }
    reduction = {};
  }

  /// Row r of the result: the slice of rank r.
  at::Tensor all_gather(at::Tensor own) {
    auto all = at::empty({size() * own.numel()}, own.options());
    wait(gloo->_allgather_base(all, own));
    return all.view({size(), -1});
  }
};

/// Gloo closes connections only when all of its calls have ended. A call that waits for a rank
/// which waits for the dead one would take until the timeout; the store tells earlier.
void ProcessGroup::Group::wait(const Work& work) {
  while (true) {
    try {
      work->wait(kNoticeTime);
      return;
    } catch (const std::exception&) {
      if (work->isCompleted()) {
        if (const auto error = work->exception()) {
          std::rethrow_exception(error);
        }
        return;  // completed just after that time
      }
    }
    if (!query.valid()) {
      std::packaged_task<std::string()> ask([shared = meeting.store]() mutable {
        return reported_failure(*std::exchange(shared, {}));
      });
      query = ask.get_future();
      std::thread(std::move(ask)).detach();
    } else if (query.wait_for(milliseconds(0)) == std::future_status::ready) {
      const auto failed = query.get();
      if (!failed.empty()) {
        throw std::runtime_error(failed);
      }
    }
  }
}

void ProcessGroup::Group::wait_for(std::vector<std::string> keys, milliseconds limit) const {
  const auto wait = [shared = meeting.store, keys = std::move(keys), limit] {
    // Polls: a wait of the store would not notice the failure of a rank.
    const auto deadline = Clock::now() + limit;
    for (milliseconds pause(1); !shared->check(keys); pause = std::min(pause * 2, kLongestPoll)) {
      if (Clock::now() >= deadline) {
        throw std::runtime_error(timed_out_after(limit));
      }
      const auto failed = reported_failure(*shared);
      if (!failed.empty() && !shared->check(keys)) {
        throw std::runtime_error(failed);
      }
      std::this_thread::sleep_for(pause);
    }
  };
  ask_in_time(limit + kNoticeTime, wait);
}

void ProcessGroup::Group::fail(std::string_view operation, const std::string& cause) {
  // Closes the connections, so that all other ranks fail now and report it. Waits for threads of
  // Gloo that may still be in a call, hence in a thread of its own.
  std::thread([lost = std::exchange(gloo, nullptr)]() mutable { lost.reset(); }).detach();
  const bool is_timeout =
      cause.find("imed out") != std::string::npos || cause.find("imeout") != std::string::npos;
  failure = failure_report(
      meeting, rank(), operation,
      is_timeout && !cause.starts_with("timed out") ? timed_out_after(timeout) : cause);
  throw DistributedError(failure);
}

void ProcessGroup::Group::leave() {
  if (gloo == nullptr) {
    return;
  }
  gloo.reset();
  if (query.valid()) {
    query.wait_for(kNoticeTime);
  }
  try {
    ask_in_time(kLeaveTime, [shared = meeting.store, environment = environment] {
      const auto deadline = Clock::now() + kLeaveTime;
      report_leaving(*shared, environment.rank);
      while (environment.serves_store && leavers(*shared) < environment.world_size &&
             Clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds(2));
      }
    });
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
      // Meeting and connecting each take up to the timeout.
      static_cast<Connections&>(*group) = ask_in_time(
          options.timeout * 2,
          [environment, timeout = options.timeout] { return connect(environment, timeout); });
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
        [&](std::size_t item) { group_->finish(reductions[item]); });
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
        [](std::size_t) {}, [&](std::size_t item) { group_->wait(works[item]); });
  });
}

void ProcessGroup::barrier(std::string_view what, milliseconds timeout) {
  if (size() == 1) {
    return;
  }
  group_->run(what, [&] {
    const std::string key = str_cat("barrier/", group_->barriers++);
    ask_in_time(timeout, [shared = group_->meeting.store, key, size = size()] {
      if (shared->add(key, 1) == size) {
        shared->set(key + "/go", std::string("1"));
      }
    });
    group_->wait_for({key + "/go"}, timeout);
  });
}

ProcessGroup& single_process() {
  static const auto group = ProcessGroup::join({});
  return *group;
}

}  // namespace weft::train
