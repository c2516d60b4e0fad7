#include "train/distributed/connections.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "base/stop.h"

namespace weft::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLeaveTime(3000);
constexpr milliseconds kNoticeTime(200);

}  // namespace

Connections connect(const LaunchEnvironment& environment, const ProcessGroupOptions& options) {
  Connections result{.meeting = meet(environment, options.timeout),
                     .environment = environment,
                     .options = options};
  result.gloo = connect_gloo(environment, result.meeting.store, options);
  return result;
}

void connect_part(
    Connections& whole, Connections& part, const std::string& name, int index, int size) {
  part.meeting = {c10::make_intrusive<c10d::PrefixStore>(name, whole.meeting.store), {}};
  part.environment = whole.environment;
  part.environment.rank = index;
  part.environment.world_size = size;
  part.options = whole.options;
  part.whole = &whole;
  if (size > 1) {
    whole.run("connect", [&] {
      part.gloo = ask_in_time(
          whole.options.timeout,
          [environment = part.environment, store = part.meeting.store, options = part.options] {
            return connect_gloo(environment, store, options);
          });
    });
  }
  whole.parts.push_back(&part);
}

at::Tensor Connections::all_gather(at::Tensor own) {
  auto all = at::empty({size() * own.numel()}, own.options());
  wait(gloo->_allgather_base(all, own));
  return all.view({size(), -1});
}

c10d::Backend& Connections::backend_of(const at::Tensor& slice) {
  if (!slice.is_cuda()) {
    return *gloo;
  }
  if (nccl == nullptr) {
    nccl = make_nccl(environment, meeting.store);
  }
  return *nccl;
}

void Connections::wait(const WorkPtr& work, bool is_on_gpu, milliseconds stop_timeout) {
  const auto begin = Clock::now();
  wait_or_throw(work, is_on_gpu, stop_timeout);
  root().waited_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Gloo closes connections only when all of its calls have ended. A call that waits for a rank
/// which waits for the dead one would take until the timeout; the store tells earlier.
void Connections::wait_or_throw(const WorkPtr& work, bool is_on_gpu, milliseconds stop_timeout) {
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
      std::packaged_task<std::string()> ask([shared = root().meeting.store]() mutable {
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

/// Of this group and its parts, which have none afterwards.
std::vector<BackendPtr> Connections::take_backends() {
  std::vector<BackendPtr> taken = {std::exchange(nccl, nullptr), std::exchange(gloo, nullptr)};
  for (auto* const part : parts) {
    const auto of_part = part->take_backends();
    taken.insert(taken.end(), of_part.begin(), of_part.end());
  }
  return taken;
}

void Connections::fail(std::string_view operation, const std::string& cause) {
  if (whole != nullptr) {
    whole->fail(operation, cause);
  }
  // Closes the connections, so that all other ranks fail now and report it. Waits for threads of
  // Gloo that may still be in a call, hence in a thread of its own.
  std::thread([lost = take_backends()]() mutable {
    for (auto& backend : lost) {
      if (backend != nullptr && backend->getBackendName() == "nccl") {
        backend->abort();
      }
      backend.reset();
    }
  }).detach();
  const bool is_timeout =
      cause.find("imed out") != std::string::npos || cause.find("imeout") != std::string::npos;
  failure = failure_report(
      meeting, rank(), operation,
      is_timeout && !cause.starts_with("timed out") ? timed_out_after(options.timeout) : cause);
  throw DistributedError(failure);
}

void Connections::leave() {
  if (gloo == nullptr) {
    return;
  }
  if (nccl != nullptr) {
    nccl->shutdown();
  }
  gloo.reset();
  if (whole != nullptr) {
    return;
  }
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

}  // namespace weft::train
