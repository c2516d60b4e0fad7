#include "train/run/determinism.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "base/log.h"
#include "base/string_util.h"
#include "kernels/linear/product.h"

namespace weft::train {

namespace {

/// Matrix products of a linear layer: forward, and backward for its input and its weight.
std::vector<at::Tensor> linear_products_of(const at::Tensor& x, const at::Tensor& weight) {
  const auto y = kernels::product(x, weight.t());
  return {y, kernels::product(y, weight), kernels::product(y.t(), x)};
}

// LibTorch does not throw: it warns once where it has no deterministic kernel.
void set_deterministic_gpu() {
  auto& context = at::globalContext();
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  context.setDeterministicAlgorithms(true, true);
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
}

}  // namespace

bool matmul_ignores_threads(c10::ScalarType precision, int64_t threads) {
  constexpr int64_t kWidth = 128;
  constexpr int64_t kMostRows = 1500;
  constexpr int64_t kFewRows = 16;
  const at::NoGradGuard no_grad;
  const auto x =
      at::linspace(-1, 1, kMostRows * kWidth).sin().view({kMostRows, kWidth}).to(precision);
  const auto weight =
      at::linspace(-2, 3, 4 * kWidth * kWidth).cos().view({4 * kWidth, kWidth}).to(precision);
  const auto all_products = [&](int64_t count) {
    at::set_num_threads(static_cast<int>(count));
    auto products = linear_products_of(x, weight);
    for (int64_t rows = 1; rows <= kFewRows; ++rows) {  // few rows have separate kernels
      const auto few = linear_products_of(x.narrow(0, 0, rows), weight);
      products.insert(products.end(), few.begin(), few.end());
      products.push_back(kernels::product(x.narrow(1, 0, rows).t(), x));
    }
    return products;
  };
  const auto alone = all_products(1);
  const auto together = all_products(threads);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (!at::equal(alone[i], together[i])) {
      return false;
    }
  }
  return true;
}

void set_determinism(Determinism requested,
                     const c10::Device& device,
                     c10::ScalarType precision,
                     int64_t threads) {
  if (requested == Determinism::kNever || (requested == Determinism::kAuto && !device.is_cpu())) {
    return;
  }
  if (!device.is_cpu()) {
    set_deterministic_gpu();
    log::info("[run] deterministic: LibTorch warns about nondeterministic kernels");
  } else if (threads > 1 && !matmul_ignores_threads(precision, threads)) {
    log::warning(
        str_cat("[run] run.deterministic: on this machine the results of matrix products with one "
                "thread differ in their last bits from those with ",
                threads, ": only runs with ", threads, " threads reproduce this run bit for bit"));
  }
}

std::string wall_clock_key(const TrainOptions& options) {
  const std::vector<std::pair<const char*, std::optional<config::Duration>>> lengths = {
      {"train.duration", options.duration},
      {"train.schedule.warmup", options.schedule.warmup},
      {"train.evaluate_every", options.evaluate_every},
      {"train.log_every", options.log_every}};
  for (const auto& [key, length] : lengths) {
    if (length && config::seconds_in(length->unit)) {
      return str_cat(key, ": ", config::to_string(*length));
    }
  }
  return "";
}

}  // namespace weft::train
