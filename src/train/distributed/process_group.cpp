#include "train/distributed/process_group.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "train/distributed/backends.h"
#include "train/distributed/failure_report.h"
#include "train/distributed/rendezvous.h"
#include "train/distributed/slices.h"

namespace weft::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLeaveTime(3000);
constexpr milliseconds kNoticeTime(200);
constexpr int kMessageTag = 0;

struct Connections {
  Rendezvous meeting;
  BackendPtr gloo;       // null after a failure
  BackendPtr nccl = {};  // null before the first tensor of a GPU
};

Connections connect(const LaunchEnvironment& environment, milliseconds timeout) {
  const auto meeting = meet(environment, timeout);
  meeting.store->setTimeout(timeout);
  return {meeting, connect_gloo(environment, meeting.store, timeout)};
}

}  // namespace

struct ProcessGroup::Transfer::State {
  at::Tensor slice;
  at::Tensor buffer;  // what is received, unless that is the slice
  WorkPtr work;
};

struct ProcessGroup::Group : Connections {
  LaunchEnvironment environment;
  ProcessGroupOptions options;
  std::future<std::string> query;  // whether a rank failed; in flight while the store is silent
  Clock::time_point query_began;
  std::string failure;
  double waited_seconds = 0;

  int rank() const { return environment.rank; }
  int size() const { return environment.world_size; }

  /// Gloo, or NCCL for a tensor of a GPU.
  c10d::Backend& backend_of(const at::Tensor& slice);

  void wait(const WorkPtr& work, bool is_on_gpu = false) {
    wait(work, is_on_gpu, options.stop_timeout);
  }
  void wait(const WorkPtr& work, bool is_on_gpu, milliseconds stop_timeout);
  void wait_or_throw(const WorkPtr& work, bool is_on_gpu, milliseconds stop_timeout);
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

  /// Row r of the result: the slice of rank r.
  at::Tensor all_gather(at::Tensor own) {
    auto all = at::empty({size() * own.numel()}, own.options());
    wait(gloo->_allgather_base(all, own));
    return all.view({size(), -1});
  }
};

c10d::Backend& ProcessGroup::Group::backend_of(const at::Tensor& slice) {
  if (!slice.is_cuda()) {
    return *gloo;
  }
  if (nccl == nullptr) {
    nccl = make_nccl(environment, meeting.store);
  }
  return *nccl;
}

void ProcessGroup::Group::wait(const WorkPtr& work, bool is_on_gpu, milliseconds stop_timeout) {
  const auto begin = Clock::now();
  wait_or_throw(work, is_on_gpu, stop_timeout);
  waited_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Gloo closes connections only when all of its calls have ended. A call that waits for a rank
/// which waits for the dead one would take until the timeout; the store tells earlier.
void ProcessGroup::Group::wait_or_throw(const WorkPtr& work,
                                        bool is_on_gpu,
                                        milliseconds stop_timeout) {
  const auto began = Clock::now();
  auto stops_at = Clock::time_point::max();
  while (!ends_within(kNoticeTime, work, is_on_gpu)) {
    if (is_on_gpu && Clock::now() - began > options.timeout) {  // Gloo has a timeout of its own
      throw std::runtime_error(timed_out_after(options.timeout));
    }
    if (stop_requested()) {
      stops_at = std::min(stops_at, Clock::now() + stop_timeout);
      if (Clock::now() >= stops_at) {
        throw std::runtime_error(timed_out_after(stop_timeout) + " while stopping");
      }
    }
    if (!query.valid()) {
      std::packaged_task<std::string()> ask([shared = meeting.store]() mutable {
        return reported_failure(*std::exchange(shared, {}));
      });
      query = ask.get_future();
      query_began = Clock::now();
      std::thread(std::move(ask)).detach();
    } else if (query.wait_for(milliseconds(0)) == std::future_status::ready) {
      const auto failed = query.get();
      if (!failed.empty()) {
        throw std::runtime_error(failed);
      }
    } else if (Clock::now() - query_began > options.timeout) {  // rank 0, which has the store
      throw std::runtime_error(timed_out_after(options.timeout));
    }
  }
}

void ProcessGroup::Group::fail(std::string_view operation, const std::string& cause) {
  // Closes the connections, so that all other ranks fail now and report it. Waits for threads of
  // Gloo that may still be in a call, hence in a thread of its own.
  std::thread([lost = std::exchange(gloo, nullptr), gpus = std::exchange(nccl, nullptr)]() mutable {
    if (gpus != nullptr) {
      gpus->abort();
    }
    lost.reset();
  }).detach();
  const bool is_timeout =
      cause.find("imed out") != std::string::npos || cause.find("imeout") != std::string::npos;
  failure = failure_report(
      meeting, rank(), operation,
      is_timeout && !cause.starts_with("timed out") ? timed_out_after(options.timeout) : cause);
  throw DistributedError(failure);
}

void ProcessGroup::Group::leave() {
  if (gloo == nullptr) {
    return;
  }
  if (nccl != nullptr) {
    nccl->shutdown();
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
  group->options = options;
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

double ProcessGroup::waited_seconds() const { return group_->waited_seconds; }

void ProcessGroup::set_step(int64_t step) { set_reported_step(step); }

void ProcessGroup::require_support(const c10::Device& device) const {
  if (size() > 1 && device.is_cuda() && !has_nccl()) {
    throw UserError(
        "run.device: GPUs on several ranks need NCCL, which this program was built without; build "
        "it with LibTorch for CUDA and the headers of CUDA and NCCL, or use run.device: cpu");
  }
}

void ProcessGroup::require_same(std::string_view what, const std::string& value) {
  const auto values = gather(value);
  const auto other = std::find_if(values.begin(), values.end(),
                                  [&](const auto& each) { return each != values.front(); });
  if (other != values.end()) {
    throw UserError(str_cat(what, ": must be the same on all ranks, is ",
                            quoted_text(values.front()), " on rank 0 and ", quoted_text(*other),
                            " on rank ", other - values.begin()));
  }
}

ProcessGroup::Transfer ProcessGroup::start_reduce_scatter(const at::Tensor& slice, int64_t part) {
  check_parts(slice, part, size());
  auto state = std::make_shared<Transfer::State>();
  state->slice = slice;
  if (size() > 1) {
    // Every rank gets the terms of its own part and adds them.
    const int64_t own = count_of(slice, part, rank());
    state->buffer = at::empty({size() * own}, slice.options());
    std::vector<int64_t> received(static_cast<std::size_t>(size()), own);
    std::vector<int64_t> sent;
    for (int other = 0; other < size(); ++other) {
      sent.push_back(count_of(slice, part, other));
    }
    group_->run("reduce-scatter", [&] {
      state->work =
          group_->backend_of(slice).alltoall_base(state->buffer, state->slice, received, sent);
    });
  }
  return Transfer(std::move(state));
}

at::Tensor ProcessGroup::finish_reduce_scatter(Transfer& transfer) {
  auto& state = *transfer.state_;
  if (size() == 1) {
    return state.slice;
  }
  const at::NoGradGuard no_grad;
  group_->run("reduce-scatter", [&] { group_->wait(state.work, state.slice.is_cuda()); });
  return ordered_sum(state.buffer.view({size(), -1}));
}

ProcessGroup::Transfer ProcessGroup::start_all_gather(const at::Tensor& slice, int64_t part) {
  check_parts(slice, part, size());
  auto state = std::make_shared<Transfer::State>();
  state->slice = slice;
  if (size() > 1) {
    const at::NoGradGuard no_grad;
    auto own =
        slice.narrow(0, std::min(rank() * part, slice.numel()), count_of(slice, part, rank()));
    auto all = slice;
    if (slice.numel() != size() * part) {  // Gloo takes equal parts only
      all = state->buffer = at::empty({size() * part}, slice.options());
      all.narrow(0, rank() * part, own.numel()).copy_(own);
      own = all.narrow(0, rank() * part, part);
    }
    group_->run("all-gather",
                [&] { state->work = group_->backend_of(slice)._allgather_base(all, own); });
  }
  return Transfer(std::move(state));
}

void ProcessGroup::finish_all_gather(Transfer& transfer) {
  auto& state = *transfer.state_;
  if (size() == 1) {
    return;
  }
  const at::NoGradGuard no_grad;
  group_->run("all-gather", [&] { group_->wait(state.work, state.slice.is_cuda()); });
  if (state.buffer.defined()) {
    state.slice.copy_(state.buffer.narrow(0, 0, state.slice.numel()));
  }
}

void ProcessGroup::send(const at::Tensor& slice, int to) {
  check_slice(slice);
  group_->run("send", [&] {
    std::vector<at::Tensor> tensors{slice};
    group_->wait(group_->backend_of(slice).send(tensors, to, kMessageTag), slice.is_cuda());
  });
}

void ProcessGroup::receive(const at::Tensor& slice, int from) {
  check_slice(slice);
  group_->run("receive", [&] {
    std::vector<at::Tensor> tensors{slice};
    group_->wait(group_->backend_of(slice).recv(tensors, from, kMessageTag), slice.is_cuda());
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

void ProcessGroup::broadcast(const at::Tensor& slice) {
  check_slice(slice);
  if (size() > 1) {
    group_->run("broadcast", [&] {
      std::vector<at::Tensor> tensors{slice};
      group_->wait(group_->backend_of(slice).broadcast(tensors), slice.is_cuda());
    });
  }
}

void ProcessGroup::barrier(std::string_view what, MayBeLate may_be_late) {
  if (size() == 1) {
    return;
  }
  group_->run(what, [&] {
    c10d::BarrierOptions options;
    const bool waits_for_main = !is_main();
    options.timeout =
        waits_for_main || may_be_late == MayBeLate::kAll ? kUnlimited : group_->options.timeout;
    group_->wait(group_->gloo->barrier(options), false, kUnlimited);
  });
}

ProcessGroup& single_process() {
  static const auto group = ProcessGroup::join({});
  return *group;
}

}  // namespace weft::train
