#pragma once

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "train/distributed/launch_environment.h"

namespace weft::train {

struct ProcessGroupOptions;

constexpr std::chrono::milliseconds kUnlimited = std::chrono::days(365);

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;
using StorePtr = c10::intrusive_ptr<c10d::Store>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// Gloo, for tensors of the CPU. Waits until all ranks are connected, each having come here at
/// about the same time. The store and each work then have the timeout of the options. Throws
/// exceptions of c10d.
BackendPtr connect_gloo(const LaunchEnvironment& environment,
                        const StorePtr& store,
                        const ProcessGroupOptions& options);

/// Whether this program has NCCL: it must be built with LibTorch for CUDA and find the headers of
/// CUDA and NCCL.
bool has_nccl();

/// NCCL, for tensors of GPUs, one of each rank. Ranks connect at the first collective. Its works
/// have no timeout. Only with `has_nccl`.
BackendPtr make_nccl(const LaunchEnvironment& environment, const StorePtr& store);

/// Waits until the work has ended, at most for `time`. Returns whether it has. Rethrows its
/// exception. After a work on a GPU, kernels started from now on see its result.
bool ends_within(std::chrono::milliseconds time, const WorkPtr& work, bool is_on_gpu);

}  // namespace weft::train
