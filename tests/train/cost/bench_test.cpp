#include "train/cost/bench.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/log.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

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
  EXPECT_LE(sum(report.forward_by_operation), 3 * report.forward_ms);
  EXPECT_LE(sum(report.backward_by_operation), 3 * report.backward_ms);
  for (const auto kind : {kernels::Operation::kMatmul, kernels::Operation::kAttention,
                          kernels::Operation::kNorm, kernels::Operation::kLoss}) {
    EXPECT_GT(report.forward_by_operation[static_cast<std::size_t>(kind)], 0) << name_of(kind);
    EXPECT_GT(report.backward_by_operation[static_cast<std::size_t>(kind)], 0) << name_of(kind);
  }
}

TEST(Bench, TellsMemoryByKind) {
  log::set_level(log::Level::kError);
  const test::SmallRun small;
  const auto report = bench(small.config("mlm", "run", {"train.precision=bf16"}), 1, 0);
  const auto& memory = report.memory;
  const auto parameters = static_cast<double>(report.parameters);
  EXPECT_NEAR(memory.weights, 6 * parameters, 0.5 * parameters + 4e4);  // layers are aligned
  EXPECT_NEAR(memory.gradients, memory.weights / 3, 1);
  EXPECT_NEAR(memory.optimizer, 4 * memory.gradients, 1);
  EXPECT_GT(memory.activations, 0);
  EXPECT_NEAR(memory.activations_expected / memory.activations, 1, 0.25);  // of other lengths
  EXPECT_GT(memory.allocations, 10);
  EXPECT_GE(memory.allocated, memory.activations);
}

}  // namespace
}  // namespace weft::train
