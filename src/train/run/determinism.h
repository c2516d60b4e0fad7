#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "train/optimizer/train_options.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Does what `run.deterministic` asks, and warns where this machine cannot: on the CPU Weft's own
/// kernels never hang on the number of threads, the products of the libraries are tried out.
void set_determinism(Determinism wish,
                     const c10::Device& device,
                     c10::ScalarType precision,
                     int64_t threads);

/// Whether a product of each kind of a training step has the same bits in one thread and in so
/// many.
bool products_ignore_threads(c10::ScalarType precision, int64_t threads);

/// The first key that lets the clock decide what a run does (`train.duration: 10 minutes`); empty:
/// none, the run can be repeated.
std::string clock_key(const TrainOptions& options);

}  // namespace weft::train
