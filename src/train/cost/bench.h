#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/operation_profiler.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Memory of a training run by kind, in bytes.
struct BenchMemory {
  double weights = 0;  // fp32 master, and the bf16 copy where there is one
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;           // peak memory of a step's other tensors
  double activations_expected = 0;  // by the measured line of cost_of, for as many tokens
  double resident_before = 0;       // of the process, before model and data
  double allocations = 0;           // per step
  double allocated = 0;             // bytes per step
};

/// Measurements of training steps. Times are medians over the counted steps.
struct BenchReport {
  int64_t steps = 0;
  int64_t parameters = 0;
  std::string precision;
  std::string device;
  int64_t threads = 0;
  double real_tokens_per_s = 0;  // all tokens divided by all time of the counted steps
  double tokens_per_step = 0;
  double sequences_per_step = 0;
  double ms_per_step_median = 0;
  double data_wait_ms = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double optimizer_ms = 0;  // with gradient norm and clipping
  double other_ms = 0;
  double padding_share = 0;
  int64_t peak_rss_mib = 0;
  std::optional<int64_t> peak_gpu_mib;
  double matrix_products_ms = 0;  // the matrix products of a step alone, forward and backward
  double loss = 0;                // of the last step
  kernels::OperationProfiler::Milliseconds forward_by_operation{};
  kernels::OperationProfiler::Milliseconds backward_by_operation{};  // with recomputation
  double idle_share = 0;  // fraction of the threads' time in which they did not run
  BenchMemory memory;
};

/// Trains `steps` steps after `warmup` uncounted ones in a temporary directory.
BenchReport bench(const RunConfig& config, int64_t steps, int64_t warmup);

}  // namespace weft::train
