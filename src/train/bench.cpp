#include "train/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "models/baseline_config.h"
#include "train/baseline_cost.h"
#include "train/device.h"
#include "train/trial.h"

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
         (median_ms(device, [&] { at::mm(x, weight.t()); }) +
          median_ms(device, [&] { at::mm(gradient, weight); }) +
          median_ms(device, [&] { at::mm(gradient.t(), x); }));
}

struct Measured {
  std::vector<double> step, wait, forward, backward, optimizer, other;
  double tokens = 0;
  double sequences = 0;
  double targets = 0;
  double total_ms = 0;
};

void measure_step(Trial& trial, Measured& measured) {
  auto& trainer = trial.trainer();
  const double waited = trainer.waited_ms();
  const double begin = now_ms();
  trial.step();
  const double step = now_ms() - begin;
  const double wait = trainer.waited_ms() - waited;
  const auto& parts = trainer.parts();
  measured.step.push_back(step);
  measured.wait.push_back(wait);
  measured.forward.push_back(parts.forward);
  measured.backward.push_back(parts.backward);
  measured.optimizer.push_back(parts.optimizer);
  measured.other.push_back(step - wait - parts.forward - parts.backward - parts.optimizer);
  measured.total_ms += step;
  measured.tokens += static_cast<double>(trainer.result().tokens);
  measured.sequences += static_cast<double>(trainer.result().sequences);
  measured.targets += static_cast<double>(trainer.result().targets);
}

StepRows rows_of(const Measured& measured, models::Head head, double steps) {
  const double sequences = measured.sequences / steps;
  double targets = measured.targets / steps;
  if (head == models::Head::kPretraining) {
    targets -= sequences;  // a second term counts one target for each sequence
  }
  return {.tokens = std::llround(measured.tokens / steps),
          .targets = std::llround(std::max(targets, 0.0)),
          .sequences = std::llround(sequences)};
}

}  // namespace

std::vector<Product> linear_products(const models::ModelOptions& options, const StepRows& rows) {
  if (models::is_baseline(options.family)) {
    return baseline_products(options, rows);
  }
  const int64_t d = options.dim;
  std::vector<Product> products = {
      {rows.tokens, d, 3 * d, options.layers},
      {rows.tokens, d, d, options.layers},
      {rows.tokens, d, options.width, options.layers},
      {rows.tokens, options.width, d, options.layers},
  };
  const int64_t e = models::embedding_width(options);
  if (e != d) {
    products.push_back({rows.tokens, e, d, 1});
  }
  const bool has_words =
      options.head == models::Head::kMaskedLm || options.head == models::Head::kPretraining;
  if (has_words && rows.targets > 0) {
    products.push_back({rows.targets, d, e, 1});
    products.push_back({rows.targets, e, options.vocabulary, 1});
  }
  if (options.head != models::Head::kMaskedLm && options.head != models::Head::kNone) {
    products.push_back({rows.sequences, d, d, 1});
  }
  return products;
}

BenchReport bench(const RunConfig& config, int64_t steps, int64_t warmup) {
  Trial trial(config, true);
  Measured measured;
  for (int64_t step = 0; step < warmup; ++step) {
    trial.step();
  }
  for (int64_t step = 0; step < steps; ++step) {
    measure_step(trial, measured);
  }
  const auto count = static_cast<double>(steps);
  const auto& options = trial.task().model->options();
  BenchReport report;
  report.steps = steps;
  report.parameters = trial.trainer().arena().parameters();
  report.precision = precision_name(trial.precision().type);
  report.device = trial.device().str();
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
  report.loss = trial.trainer().result().loss;
  const at::NoGradGuard no_grad;
  for (const auto& product : linear_products(options, rows_of(measured, options.head, count))) {
    report.matrix_products_ms += product_ms(product, trial.precision().type, trial.device());
  }
  return report;
}

}  // namespace weft::train
