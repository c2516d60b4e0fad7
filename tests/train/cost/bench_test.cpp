#include "train/cost/bench.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/log.h"
#include "objectives/causal_lm.h"
#include "objectives/classify.h"
#include "objectives/masked_lm.h"
#include "objectives/seq2seq.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

using objectives::make_causal_lm;
using objectives::make_classify;
using objectives::make_masked_lm;
using objectives::make_seq2seq;

int64_t multiplications(const models::ModelOptions& options,
                        const std::unique_ptr<objectives::Objective>& objective,
                        const StepRows& rows) {
  int64_t sum = 0;
  for (const auto& product : linear_products(options, *objective, rows)) {
    sum += product.rows * product.inputs * product.outputs * product.times;
  }
  return sum;
}

models::ModelOptions small_options(models::Head head) {
  models::ModelOptions options;
  options.head = head;
  options.vocabulary = 100;
  options.dim = 8;
  options.layers = 3;
  options.heads = options.decoder.heads = 2;
  options.width = 32;
  return options;
}

TEST(Bench, CountsTheProductsOfEveryLayer) {
  // 12 D^2 for each token and layer where F = 4 D, in the last one 2 D^2 for the tokens that are no
  // targets; the head's transform and the vocabulary for each target.
  EXPECT_EQ(multiplications(small_options(models::Head::kMaskedLm), make_masked_lm(),
                            {.tokens = 50, .targets = 7, .sequences = 2}),
            50 * 2 * 12 * 64 + 7 * 12 * 64 + 43 * 2 * 64 + 7 * (64 + 800));
  // The vocabulary alone.
  EXPECT_EQ(multiplications(small_options(models::Head::kCausalLm), make_causal_lm(),
                            {.tokens = 50, .targets = 50, .sequences = 2}),
            50 * 3 * 12 * 64 + 50 * 800);
}

TEST(Bench, CountsTheProductsOfBothStacks) {
  auto options = small_options(models::Head::kConditional);
  options.decoder.layers = 2;
  options.decoder.width = 16;
  // The encoder as above; in the decoder 8 D^2 where F = 2 D, query and output of its attention to
  // the source, key and value for each token of that.
  EXPECT_EQ(multiplications(options, make_seq2seq(), {.tokens = 50, .targets = 20, .sequences = 2}),
            30 * 3 * 12 * 64 + 20 * 2 * (8 + 2) * 64 + 30 * 2 * 2 * 64 + 20 * 800);
}

TEST(Bench, CountsTheProductsOfGatesAndSharedHeads) {
  auto options = small_options(models::Head::kCausalLm);
  options.modern.is_gated = true;
  options.heads = 4;
  options.decoder.head_dim = 3;
  options.decoder.key_value_heads = 2;
  // Queries and output 12 wide, keys and values 6 each; three matrices of the feed-forward.
  EXPECT_EQ(
      multiplications(options, make_causal_lm(), {.tokens = 50, .targets = 50, .sequences = 2}),
      50 * 3 * 8 * (2 * 12 + 2 * 6 + 3 * 32) + 50 * 800);
}

TEST(Bench, CountsTheProductsOfPatches) {
  auto options = small_options(models::Head::kImage);
  options.vision.image_size = 8;
  options.vision.patch_size = 2;
  // 12 pixels of each patch; an image's first token is none, but has the head's product. In the
  // last layer the other tokens have keys and values.
  options.family = models::Family::kVit;
  EXPECT_EQ(multiplications(options, make_classify(), {.tokens = 34, .targets = 2, .sequences = 2}),
            34 * 2 * 12 * 64 + 34 * 2 * 64 + 2 * 10 * 64 + 32 * 12 * 8 + 2 * 64);
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
