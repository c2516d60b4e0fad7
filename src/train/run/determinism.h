#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "train/optimizer/train_options.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Applies `run.deterministic` and warns where this machine cannot fulfil it. On the CPU, Weft's
/// kernels never depend on the number of threads; the matrix products of the libraries are tested.
void set_determinism(Determinism requested,
                     const c10::Device& device,
                     c10::ScalarType precision,
                     int64_t threads);

/// Whether each kind of matrix product in a training step gives the same bits with one thread and
/// with `threads`.
bool matmul_ignores_threads(c10::ScalarType precision, int64_t threads);

/// First key that makes the run depend on wall-clock time (`train.duration: 10 minutes`); empty if
/// there is none and the run is reproducible.
std::string wall_clock_key(const TrainOptions& options);

}  // namespace weft::train
