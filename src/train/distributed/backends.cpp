#include "train/distributed/backends.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <thread>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>  // empty without NCCL

#include "train/distributed/process_group.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {

namespace {

constexpr int kGlooThreads = 4;  // so many works run at the same time
constexpr std::chrono::microseconds kGpuPoll(20);

}  // namespace

BackendPtr connect_gloo(const LaunchEnvironment& environment,
                        const StorePtr& store,
                        const ProcessGroupOptions& group_options) {
  const auto timeout = std::min(group_options.timeout, group_options.connect_timeout);
  store->setTimeout(timeout);
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  if (std::getenv("GLOO_SOCKET_IFNAME") != nullptr) {
    options = c10d::ProcessGroupGloo::Options::create_default(timeout);
  } else {
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(own_address(environment.host)));
  }
  options->threads = kGlooThreads;
  auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>("gloo", store), environment.rank,
      environment.world_size, options);
  store->setTimeout(group_options.timeout);
  gloo->setTimeout(group_options.timeout);
  return gloo;
}

#ifdef USE_C10D_NCCL

bool has_nccl() { return true; }

BackendPtr make_nccl(const LaunchEnvironment& environment, const StorePtr& store) {
  // Otherwise its watchdog ends the process when a rank is late or dead, before the others have
  // reported which one.
  for (const auto* variable : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING"}) {
    ::setenv(variable, "0", 0);
  }
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = kUnlimited;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", store), environment.rank,
      environment.world_size, options);
}

#else

bool has_nccl() { return false; }

BackendPtr make_nccl(const LaunchEnvironment& /*environment*/, const StorePtr& /*store*/) {
  TORCH_CHECK(false, "this program was built without NCCL");
}

#endif

bool ends_within(std::chrono::milliseconds time, const WorkPtr& work, bool is_on_gpu) {
  if (is_on_gpu) {
    // `wait` would only make the stream wait: a kernel that waits for a dead rank would then block
    // this thread for good at the next synchronisation.
    const auto end = std::chrono::steady_clock::now() + time;
    while (!work->isCompleted()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::sleep_for(kGpuPoll);
    }
    work->wait();
    return true;
  }
  try {
    work->wait(time);
  } catch (const std::exception&) {
    if (!work->isCompleted()) {
      return false;
    }
    if (const auto error = work->exception()) {
      std::rethrow_exception(error);
    }
  }
  return true;
}

}  // namespace weft::train
