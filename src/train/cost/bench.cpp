#include "train/cost/bench.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <sys/resource.h>

#include "kernels/flop_counter.h"
#include "kernels/linear/product.h"
#include "train/cost/allocation_tracker.h"
#include "train/cost/cost.h"
#include "train/run/device.h"
#include "train/step/probe_run.h"

namespace weft::train {

namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double median_ms(const c10::Device& device, const std::function<void()>& work) {
  constexpr int kRounds = 5;
  work();
  synchronize(device);
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_ms();
    work();
    synchronize(device);
    times.push_back(now_ms() - begin);
  }
  return median(times);
}

using Products = std::map<kernels::ProductShape, int64_t>;

/// Time of one product of this shape, whose transposed sides are views of contiguous matrices.
double product_ms(const kernels::ProductShape& shape,
                  at::ScalarType type,
                  const c10::Device& device) {
  const auto matrix = [&](int64_t rows, int64_t columns, bool is_transposed) {
    const auto options = at::device(device).dtype(type);
    return is_transposed ? at::ones({columns, rows}, options).t()
                         : at::ones({rows, columns}, options);
  };
  const auto left = matrix(shape.rows, shape.depth, shape.left_is_transposed);
  const auto right = matrix(shape.depth, shape.columns, shape.right_is_transposed);
  return median_ms(device, [&] { kernels::product(left, right); });
}

struct Measured {
  std::vector<double> step, wait, forward, backward, optimizer, other;
  double tokens = 0;
  double sequences = 0;
  std::vector<kernels::OperationProfiler::Milliseconds> forward_by_operation, backward_by_operation;
  std::vector<std::pair<int64_t, Products>> products;  // of each step, with its operations
};

kernels::OperationProfiler::Milliseconds medians(
    const std::vector<kernels::OperationProfiler::Milliseconds>& steps) {
  kernels::OperationProfiler::Milliseconds result{};
  for (std::size_t kind = 0; kind < result.size(); ++kind) {
    std::vector<double> values;
    for (const auto& step : steps) {
      values.push_back(step[kind]);
    }
    result[kind] = median(values);
  }
  return result;
}

void time_step(ProbeRun& probe, Measured& measured) {
  auto& trainer = probe.trainer();
  const kernels::FlopCounter counter;
  const double wait_before = trainer.data_wait_ms();
  const double begin = now_ms();
  probe.step();
  const double step = now_ms() - begin;
  const double wait = trainer.data_wait_ms() - wait_before;
  const auto& timings = trainer.timings();
  measured.step.push_back(step);
  measured.wait.push_back(wait);
  measured.forward.push_back(timings.forward);
  measured.backward.push_back(timings.backward);
  measured.optimizer.push_back(timings.optimizer);
  measured.other.push_back(step - wait - timings.forward - timings.backward - timings.optimizer);
  measured.forward_by_operation.push_back(timings.forward_by_operation);
  measured.backward_by_operation.push_back(timings.backward_by_operation);
  measured.tokens += static_cast<double>(trainer.result().tokens);
  measured.sequences += static_cast<double>(trainer.result().sequences);
  measured.products.emplace_back(counter.flops(), counter.products());
}

/// The parts of the steps. A GPU works on several at once, so they are measured in more steps that
/// wait for it after each part.
Measured measure_parts(ProbeRun& probe, const Measured& measured, int64_t steps) {
  if (probe.device().is_cpu()) {
    return measured;
  }
  constexpr int64_t kSteps = 5;
  Measured parts;
  probe.trainer().set_synchronizes(true);
  for (int64_t step = 0; step < std::min(steps, kSteps); ++step) {
    time_step(probe, parts);
  }
  return parts;
}

/// Time of the matrix products of the step with the median number of operations.
double matrix_products_ms(Measured& measured, ProbeRun& probe) {
  auto& steps = measured.products;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  const at::NoGradGuard no_grad;
  double sum = 0;
  for (const auto& [shape, times] : middle->second) {
    sum += static_cast<double>(times) * product_ms(shape, probe.precision().type, probe.device());
  }
  return sum;
}

double cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto milliseconds = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

/// Tokens in the largest micro-batch of the step that was just made.
double micro_batch_tokens(ProbeRun& probe, const RunConfig& config) {
  const auto tokens = probe.trainer().result().tokens;
  return static_cast<double>(std::min(tokens, config.train.micro_batch_tokens.value_or(tokens)));
}

/// Measures some more steps, which are not timed. Returns the tokens of the micro-batch with the
/// most activations.
double count_allocations(ProbeRun& probe, const RunConfig& config, BenchMemory& memory) {
  constexpr int kSteps = 3;
  double tokens = 0;
  AllocationTracker tensors;
  for (int step = 0; step < kSteps; ++step) {
    tensors.reset();
    const auto before = tensors.counts().live;
    probe.step();
    const auto counts = tensors.counts();
    const auto activations = static_cast<double>(counts.peak - before);
    if (activations > memory.activations) {
      memory.activations = activations;
      tokens = micro_batch_tokens(probe, config);
    }
    memory.allocations += static_cast<double>(counts.allocations) / kSteps;
    memory.allocated += static_cast<double>(counts.allocated) / kSteps;
  }
  return tokens;
}

/// Activations that `weft inspect` states for a micro-batch of so many tokens; 0: not measured.
double expected_activations(ProbeRun& probe, const RunConfig& config, double tokens) {
  auto known = config;
  known.model = probe.components().model->options();
  const auto& result = probe.trainer().result();
  const auto cost = cost_of(known, result.tokens / std::max<int64_t>(1, result.sequences),
                            probe.precision().type);
  return cost.step ? cost.step->activations.bytes(tokens) : 0;
}

/// Activations and allocations are measured on the CPU only.
BenchMemory measure_memory(ProbeRun& probe, const RunConfig& config) {
  BenchMemory memory;
  if (probe.device().is_cpu()) {
    const double tokens = count_allocations(probe, config, memory);
    memory.activations_expected = expected_activations(probe, config, tokens);
  }
  const auto& flat_parameters = probe.trainer().flat_parameters();
  memory.weights = bytes_of(flat_parameters.master()) + bytes_of(flat_parameters.compute());
  memory.gradients = bytes_of(flat_parameters.gradient());
  for (const auto& [name, moment] : probe.trainer().optimizer().moments()) {
    memory.optimizer += bytes_of(moment);
  }
  return memory;
}

}  // namespace

BenchReport bench(const RunConfig& config, int64_t steps, int64_t warmup) {
  const auto resident_before = static_cast<double>(peak_memory());
  ProbeRun probe(config, true);
  Measured measured;
  for (int64_t step = 0; step < warmup; ++step) {
    probe.step();
  }
  const double cpu_before = cpu_ms();
  probe.trainer().set_synchronizes(false);
  const double begin = now_ms();
  for (int64_t step = 0; step < steps; ++step) {
    time_step(probe, measured);
  }
  synchronize(probe.device());
  const double total_ms = now_ms() - begin;
  const double cpu_spent = cpu_ms() - cpu_before;
  const auto parts = measure_parts(probe, measured, steps);
  const auto count = static_cast<double>(steps);
  BenchReport report;
  report.steps = steps;
  report.parameters = probe.trainer().flat_parameters().parameters();
  report.precision = precision_name(probe.precision().type);
  report.device = probe.device().str();
  report.threads = at::get_num_threads();
  report.real_tokens_per_s = 1e3 * measured.tokens / total_ms;
  report.tokens_per_step = measured.tokens / count;
  report.sequences_per_step = measured.sequences / count;
  report.ms_per_step_median = median(measured.step);
  report.data_wait_ms = median(measured.wait);
  report.forward_ms = median(parts.forward);
  report.backward_ms = median(parts.backward);
  report.optimizer_ms = median(parts.optimizer);
  report.other_ms = median(parts.other);
  report.peak_rss_mib = peak_memory() >> 20;
  if (const auto peak = peak_device_memory(probe.device())) {
    report.peak_gpu_mib = *peak >> 20;
  }
  report.loss = probe.trainer().result().loss;
  report.forward_by_operation = medians(parts.forward_by_operation);
  report.backward_by_operation = medians(parts.backward_by_operation);
  report.idle_share =
      std::max(0.0, 1 - cpu_spent / (total_ms * static_cast<double>(report.threads)));
  report.memory = measure_memory(probe, config);
  report.memory.resident_before = resident_before;
  report.matrix_products_ms = matrix_products_ms(measured, probe);
  return report;
}

}  // namespace weft::train
