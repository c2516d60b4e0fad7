#include "train/bench.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/log.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

TEST(Bench, CountsTheProductsOfEveryLayer) {
  models::ModelOptions options;
  options.head = models::Head::kMaskedLm;
  options.vocabulary = 100;
  options.dim = 8;
  options.layers = 3;
  options.width = 32;
  int64_t multiplications = 0;
  for (const auto& product :
       linear_products(options, {.tokens = 50, .targets = 7, .sequences = 2})) {
    multiplications += product.rows * product.inputs * product.outputs * product.times;
  }
  // 12 D^2 for each token and layer where F = 4 D; the head's transform and the vocabulary for each
  // target.
  EXPECT_EQ(multiplications, 50 * 3 * 12 * 64 + 7 * (64 + 800));
}

TEST(Bench, PartsMakeUpTheStep) {
  log::set_level(log::Level::kError);
  const test::SmallRun small;
  const auto report = bench(small.config("mlm", "run"), 5, 2);
  EXPECT_EQ(report.steps, 5);
  EXPECT_GT(report.real_tokens_per_s, 0);
  EXPECT_GT(report.matrix_products_ms, 0);
  EXPECT_LE(report.forward_ms + report.backward_ms + report.optimizer_ms,
            3 * report.ms_per_step_median);
  EXPECT_GT(report.forward_ms, 0);
  EXPECT_GT(report.backward_ms, 0);
  const auto sum = [](const auto& kinds) {
    return std::accumulate(kinds.begin(), kinds.end(), 0.0);
  };
  EXPECT_LE(sum(report.forward_kinds), 3 * report.forward_ms);
  EXPECT_LE(sum(report.backward_kinds), 3 * report.backward_ms);
  for (const auto kind : {kernels::Operation::kProducts, kernels::Operation::kAttention,
                          kernels::Operation::kNorm, kernels::Operation::kLoss}) {
    EXPECT_GT(report.forward_kinds[static_cast<std::size_t>(kind)], 0) << name_of(kind);
    EXPECT_GT(report.backward_kinds[static_cast<std::size_t>(kind)], 0) << name_of(kind);
  }
}

TEST(Bench, TellsMemoryByKind) {
  log::set_level(log::Level::kError);
  const test::SmallRun small;
  const auto report = bench(small.config("mlm", "run", {"train.precision=bf16"}), 1, 0);
  const auto& memory = report.memory;
  const auto parameters = static_cast<double>(report.parameters);
  EXPECT_NEAR(memory.weights, 6 * parameters, 0.5 * parameters + 1e4);  // places are aligned
  EXPECT_NEAR(memory.gradients, memory.weights / 3, 1);
  EXPECT_NEAR(memory.optimizer, 4 * memory.gradients, 1);
  EXPECT_GT(memory.activations, 0);
  EXPECT_GT(memory.activations_expected, 0);
  EXPECT_GT(memory.allocations, 10);
  EXPECT_GE(memory.allocated, memory.activations);
}

}  // namespace
}  // namespace weft::train
