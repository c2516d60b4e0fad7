#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/operation_profiler.h"
#include "train/cost/step_rows.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Tensors of a training by kind, in bytes.
struct BenchMemory {
  double weights = 0;  // fp32 master, and the bf16 copy where there is one
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;           // at most at once in a step, and what its kernels use
  double activations_expected = 0;  // as step_memory has it for the same rows
  double resident_before = 0;       // of the process, before model and data
  double allocations = 0;           // in a step: how many
  double allocated = 0;             // and their bytes
};

/// What a bench of training steps measured. Milliseconds are medians over the counted steps.
struct BenchReport {
  int64_t steps = 0;
  int64_t parameters = 0;
  std::string precision;
  std::string device;
  int64_t threads = 0;
  double real_tokens_per_s = 0;  // all tokens by all time of the counted steps
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
  double matrix_products_ms = 0;  // the step's linear layers alone, forward and backward
  double loss = 0;                // of the last step
  kernels::OperationProfiler::Milliseconds forward_by_operation{};
  kernels::OperationProfiler::Milliseconds backward_by_operation{};  // with what is computed again
  double idle_share = 0;  // of the threads' time, that in which they did not run
  BenchMemory memory;
};

/// Trains `steps` steps after `warmup` uncounted ones in a temporary directory.
BenchReport bench(const RunConfig& config, int64_t steps, int64_t warmup);

/// A linear layer's product: (rows, inputs) x (inputs, outputs), done `times` times a step.
struct Product {
  int64_t rows = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t times = 1;
};

/// The products of a model's linear layers in one forward pass.
std::vector<Product> linear_products(const models::ModelOptions& options,
                                     const objectives::Objective& objective,
                                     const StepRows& rows);

}  // namespace weft::train
