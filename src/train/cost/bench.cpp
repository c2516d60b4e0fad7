#include "train/cost/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <sys/resource.h>

#include "kernels/linear/product.h"
#include "models/families/baselines.h"
#include "models/generator.h"
#include "objectives/replaced_token.h"
#include "train/cost/allocation_tracker.h"
#include "train/cost/baseline_cost.h"
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

// Forward, and the two products of backward: for the input and for the weight.
double product_ms(const Product& product, at::ScalarType type, const c10::Device& device) {
  const auto options = at::device(device).dtype(type);
  const auto x = at::ones({product.rows, product.inputs}, options);
  const auto weight = at::ones({product.outputs, product.inputs}, options);
  const auto gradient = at::ones({product.rows, product.outputs}, options);
  return static_cast<double>(product.times) *
         (median_ms(device, [&] { kernels::product(x, weight.t()); }) +
          median_ms(device, [&] { kernels::product(gradient, weight); }) +
          median_ms(device, [&] { kernels::product(gradient.t(), x); }));
}

struct Measured {
  std::vector<double> step, wait, forward, backward, optimizer, other;
  double tokens = 0;
  double sequences = 0;
  double targets = 0;
  double total_ms = 0;
  std::vector<kernels::OperationProfiler::Milliseconds> forward_by_operation, backward_by_operation;
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

void measure_step(ProbeRun& probe, Measured& measured) {
  auto& trainer = probe.trainer();
  const double waited = trainer.data_wait_ms();
  const double begin = now_ms();
  probe.step();
  const double step = now_ms() - begin;
  const double wait = trainer.data_wait_ms() - waited;
  const auto& timings = trainer.timings();
  measured.step.push_back(step);
  measured.wait.push_back(wait);
  measured.forward.push_back(timings.forward);
  measured.backward.push_back(timings.backward);
  measured.optimizer.push_back(timings.optimizer);
  measured.other.push_back(step - wait - timings.forward - timings.backward - timings.optimizer);
  measured.forward_by_operation.push_back(timings.forward_by_operation);
  measured.backward_by_operation.push_back(timings.backward_by_operation);
  measured.total_ms += step;
  measured.tokens += static_cast<double>(trainer.result().tokens);
  measured.sequences += static_cast<double>(trainer.result().sequences);
  measured.targets += static_cast<double>(trainer.result().targets);
}

StepRows bench_rows_of(double tokens, double sequences, double targets, models::Head head) {
  if (head == models::Head::kPretraining) {
    targets -= sequences;  // a second term counts one target for each sequence
  }
  if (head == models::Head::kReplacedToken) {
    targets -= tokens;  // and that of the discriminator each token
  }
  return {.tokens = std::llround(tokens),
          .targets = std::llround(std::max(targets, 0.0)),
          .sequences = std::llround(sequences)};
}

double cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto milliseconds = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

/// What step_memory expects of the step that was just made.
double expected_activations(ProbeRun& probe, const RunConfig& config) {
  const auto& model = probe.components().model->options();
  const auto& result = probe.trainer().result();
  auto shape =
      step_shape(model, *config.objective, config.train, probe.precision().type == at::kBFloat16);
  const auto tokens = static_cast<double>(result.tokens);
  const auto piece = static_cast<double>(config.train.micro_batch_tokens.value_or(result.tokens));
  const double share = std::min(1.0, piece / std::max(1.0, tokens));
  shape.rows = bench_rows_of(share * tokens, share * static_cast<double>(result.sequences),
                             share * static_cast<double>(result.targets), model.head);
  return step_memory(model, *config.objective, shape).peak;
}

/// Counts in some more steps, which no time is taken of.
void count_allocations(ProbeRun& probe, const RunConfig& config, BenchMemory& memory) {
  constexpr int kSteps = 3;
  AllocationTracker tensors;
  for (int step = 0; step < kSteps; ++step) {
    tensors.reset();
    const auto before = tensors.counts().live;
    probe.step();
    const auto counts = tensors.counts();
    const auto activations = static_cast<double>(counts.peak - before);
    if (activations > memory.activations) {
      memory.activations = activations;
      memory.activations_expected = expected_activations(probe, config);
    }
    memory.allocations += static_cast<double>(counts.allocations) / kSteps;
    memory.allocated += static_cast<double>(counts.allocated) / kSteps;
  }
}

/// Without activations and allocations where another device than the CPU makes them.
BenchMemory measure_memory(ProbeRun& probe, const RunConfig& config) {
  BenchMemory memory;
  if (probe.device().is_cpu()) {
    count_allocations(probe, config, memory);
  }
  const auto bytes = [](const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<double>(tensor.nbytes()) : 0;
  };
  const auto& flat_parameters = probe.trainer().flat_parameters();
  memory.weights = bytes(flat_parameters.master()) + bytes(flat_parameters.compute());
  memory.gradients = bytes(flat_parameters.gradient());
  for (const auto& [name, moment] : probe.trainer().optimizer().moments()) {
    memory.optimizer += bytes(moment);
  }
  return memory;
}

}  // namespace

std::vector<Product> linear_products(const models::ModelOptions& options,
                                     const objectives::Objective& objective,
                                     const StepRows& rows) {
  if (models::is_baseline(options.family)) {
    return baseline_products(options, rows);
  }
  const int64_t d = options.dim;
  const bool has_decoder = options.head == models::Head::kConditional;
  std::vector<Product> products;
  const int64_t own = models::query_width(options);
  const int64_t shared = models::key_width(options);
  const int64_t of_decoder = options.decoder.heads * models::head_dim(options);
  const auto add_rest = [&](int64_t tokens, int64_t layers, int64_t queries, int64_t width) {
    products.push_back({tokens, queries, d, layers});
    products.push_back({tokens, d, (options.modern.is_gated ? 2 : 1) * width, layers});
    products.push_back({tokens, width, d, layers});
  };
  const int64_t source = has_decoder ? rows.tokens - rows.targets : rows.tokens;
  const int64_t read = has_decoder ? source : rows_read(options, objective, rows);
  if (options.layers > 0) {
    products.push_back({source, d, own + 2 * shared, options.layers - 1});
    add_rest(source, options.layers - 1, own, options.width);
    products.push_back({spares_queries(options) ? read : source, d, own, 1});
    products.push_back({source, d, 2 * shared, 1});
    add_rest(read, 1, own, options.width);
  }
  if (has_decoder) {
    const auto& decoder = options.decoder;
    products.push_back({rows.targets, d, 3 * of_decoder, decoder.layers});
    add_rest(rows.targets, decoder.layers, of_decoder, decoder.width);
    products.push_back({rows.targets, d, of_decoder, decoder.layers});  // queries to the source
    products.push_back({rows.targets, of_decoder, d, decoder.layers});
    products.push_back({source, d, 2 * of_decoder, decoder.layers});  // its keys and values
  }
  const int64_t e = models::embedding_width(options);
  if (e != d) {
    products.push_back({rows.tokens, e, d, 1});
  }
  if (options.vision.image_size > 0) {
    products.push_back({rows.tokens - rows.sequences, options.vision.patch_width(), d, 1});
  }
  const bool predicts_next = options.head == models::Head::kCausalLm || has_decoder;
  const bool predicts_masked =
      options.head == models::Head::kMaskedLm || options.head == models::Head::kPretraining;
  if (predicts_masked && rows.targets > 0) {
    products.push_back({rows.targets, d, e, 1});
  }
  if ((predicts_masked || predicts_next) && rows.targets > 0) {
    products.push_back({rows.targets, e, options.vocabulary, 1});
  }
  if (!predicts_next && options.head != models::Head::kMaskedLm &&
      options.head != models::Head::kNone) {
    const bool is_per_token = options.head == models::Head::kReplacedToken;
    products.push_back({is_per_token ? rows.tokens : rows.sequences, d, d, 1});
  }
  return products;
}

BenchReport bench(const RunConfig& config, int64_t steps, int64_t warmup) {
  const auto resident_before = static_cast<double>(peak_memory());
  ProbeRun probe(config, true);
  Measured measured;
  for (int64_t step = 0; step < warmup; ++step) {
    probe.step();
  }
  const double cpu_before = cpu_ms();
  for (int64_t step = 0; step < steps; ++step) {
    measure_step(probe, measured);
  }
  const double cpu_spent = cpu_ms() - cpu_before;
  const auto count = static_cast<double>(steps);
  const auto& options = probe.components().model->options();
  BenchReport report;
  report.steps = steps;
  report.parameters = probe.trainer().flat_parameters().parameters();
  report.precision = precision_name(probe.precision().type);
  report.device = probe.device().str();
  report.threads = at::get_num_threads();
  report.real_tokens_per_s = 1e3 * measured.tokens / measured.total_ms;
  report.tokens_per_step = measured.tokens / count;
  report.sequences_per_step = measured.sequences / count;
  report.ms_per_step_median = median(measured.step);
  report.data_wait_ms = median(measured.wait);
  report.forward_ms = median(measured.forward);
  report.backward_ms = median(measured.backward);
  report.optimizer_ms = median(measured.optimizer);
  report.other_ms = median(measured.other);
  report.peak_rss_mib = peak_memory() >> 20;
  report.loss = probe.trainer().result().loss;
  report.forward_by_operation = medians(measured.forward_by_operation);
  report.backward_by_operation = medians(measured.backward_by_operation);
  report.idle_share =
      std::max(0.0, 1 - cpu_spent / (measured.total_ms * static_cast<double>(report.threads)));
  report.memory = measure_memory(probe, config);
  report.memory.resident_before = resident_before;
  const at::NoGradGuard no_grad;
  const auto rows = bench_rows_of(measured.tokens / count, measured.sequences / count,
                                  measured.targets / count, options.head);
  auto products = linear_products(options, *config.objective, rows);
  if (const auto* generator = models::generator_of(*probe.components().model)) {
    const auto its_products = linear_products(
        generator->options(),
        *objectives::make_generator_objective(config.objective->traits(options)), rows);
    products.insert(products.end(), its_products.begin(), its_products.end());
  }
  for (const auto& product : products) {
    report.matrix_products_ms += product_ms(product, probe.precision().type, probe.device());
  }
  return report;
}

}  // namespace weft::train
