#include "train/cost/rank_plan.h"

#include <gtest/gtest.h>

namespace weft::train {
namespace {

/// 1.1 million elements in 10 layers, and 0.2 million outside, all trained.
RankPlanSizes small_plan(bool is_bf16 = false) {
  return {.elements = 1.3e6,
          .trained_elements = 1.3e6,
          .largest_layer = 1.1e5,
          .outside_layers = 2e5,
          .units = 11,
          .moments = 2,
          .is_bf16 = is_bf16};
}

constexpr double kBuffers = 2 * 4 * 1.3e6;  // sent and received

TEST(RankPlan, OneRankHasWeightsGradientsAndMoments) {
  for (const auto sharding : {Sharding::kNone, Sharding::kAll}) {
    EXPECT_DOUBLE_EQ(rank_state_bytes(small_plan(), sharding, 1), 16 * 1.3e6);
    EXPECT_DOUBLE_EQ(rank_state_bytes(small_plan(true), sharding, 1), (4 + 2 + 2 + 8) * 1.3e6);
    EXPECT_DOUBLE_EQ(rank_network_bytes(small_plan(), sharding, 1, 100), 0);
  }
}

TEST(RankPlan, ShardingDividesMemory) {
  const auto bytes = [](Sharding sharding, bool is_bf16 = false) {
    return rank_state_bytes(small_plan(is_bf16), sharding, 4) - kBuffers;
  };
  EXPECT_DOUBLE_EQ(bytes(Sharding::kNone), 16 * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kOptimizer), (8 + 16.0 / 4) * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kGradients), (4 + 16.0 / 4) * 1.3e6 + 4 * 3.1e5);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kAll), 16.0 / 4 * 1.3e6 + 4 * 4.2e5 + 4 * 3.1e5);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kNone, true), 20 * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kOptimizer, true), (8 + 18.0 / 4) * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kAll, true), 18.0 / 4 * 1.3e6 + 2 * 7.3e5);
}

TEST(RankPlan, BytesSent) {
  const auto bytes = [](Sharding sharding, bool is_bf16 = false) {
    return rank_network_bytes(small_plan(is_bf16), sharding, 4, 100);
  };
  EXPECT_DOUBLE_EQ(bytes(Sharding::kNone), 0.75 * 8 * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kOptimizer), 0.75 * 8 * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kGradients), 0.75 * 8 * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kAll), 0.75 * 4 * (1.3e6 + 2 * 1.1e6 + 2e5));
  EXPECT_DOUBLE_EQ(bytes(Sharding::kOptimizer, true), 0.75 * 6 * 1.3e6);
  EXPECT_DOUBLE_EQ(bytes(Sharding::kGradients, true), 0.75 * 4 * 1.3e6);
}

// 28.65 billion parameters in 16-bit precision: 20 bytes each do not fit into 192 GB.
TEST(RankPlan, FindsTheRanksOfALargeModel) {
  RankPlanSizes sizes{.elements = 28.65e9,
                      .trained_elements = 28.65e9,
                      .largest_layer = 2e8,
                      .outside_layers = 1e9,
                      .units = 140,
                      .is_bf16 = true};
  EXPECT_FALSE(least_ranks(sizes, Sharding::kNone, 192e9));
  EXPECT_FALSE(least_ranks(sizes, Sharding::kOptimizer, 192e9));
  EXPECT_EQ(least_ranks(sizes, Sharding::kGradients, 80e9), 32);
  EXPECT_EQ(least_ranks(sizes, Sharding::kAll, 80e9), 8);
  EXPECT_EQ(least_ranks(sizes, Sharding::kAll, 24e9), 32);
}

TEST(RankPlan, EstimatesAStep) {
  // 10.4 MB / (10 MB/s): about a second on the link, two thirds of 3 seconds hide it but a unit.
  const auto fast = estimate_step(small_plan(), Sharding::kNone, 2, 3, 3000, 1e7);
  const double total = 0.5 * 8 * 1.3e6 / 1e7 + 2 * 30e-6 * 11;
  EXPECT_NEAR(fast.seconds, 3 + total / 11, 1e-9);
  EXPECT_NEAR(fast.efficiency, 3 / fast.seconds, 1e-9);
  const auto slow = estimate_step(small_plan(), Sharding::kNone, 2, 0.1, 100, 1e7);
  EXPECT_NEAR(slow.seconds, 0.1 + total - 2.0 / 3 * 10 / 11 * 0.1, 1e-9);
  // With that many tokens the efficiency is 0.95.
  const double factor = slow.tokens_for_95_percent.value() / 100;
  EXPECT_NEAR(estimate_step(small_plan(), Sharding::kNone, 2, 0.1 * factor, 100, 1e7).efficiency,
              0.95, 1e-6);
  for (const auto sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kAll}) {
    const auto estimate = estimate_step(small_plan(), sharding, 8, 0.1, 100, 1e7);
    const double times = estimate.tokens_for_95_percent.value() / 100;
    EXPECT_NEAR(estimate_step(small_plan(), sharding, 8, 0.1 * times, 100, 1e7).efficiency, 0.95,
                1e-6);
  }
  EXPECT_EQ(estimate_step(small_plan(), Sharding::kAll, 1, 3, 3000, 1e7).seconds, 3);
}

/// The same, with 0.9 million elements in experts that get 1,000 elements of each token.
RankPlanSizes plan_with_experts(bool is_bf16 = false) {
  auto sizes = small_plan(is_bf16);
  sizes.experts = {.elements = 9e5, .rest_of_largest_layer = 2e4, .token_elements = 1000};
  return sizes;
}

TEST(RankPlan, ExpertsStayWhereTheyAre) {
  const double all = rank_state_bytes(small_plan(), Sharding::kAll, 4);
  const double parallel = rank_state_bytes(plan_with_experts(), Sharding::kAll, 4);
  EXPECT_DOUBLE_EQ(all - parallel, 4 * 3 * (1.1e5 - 2e4));
  for (const bool is_bf16 : {false, true}) {
    // Of 1.1 million elements in layers 0.2 million are not in experts; 0.2 million are outside.
    EXPECT_DOUBLE_EQ(rank_network_bytes(plan_with_experts(is_bf16), Sharding::kAll, 4, 50),
                     0.75 * (is_bf16 ? 2 : 4) * (4e5 + 2 * 2e5 + 2e5 + 50 * 1000));
  }
}

TEST(RankPlan, NothingHidesTheTravelOfTokens) {
  const auto plan = plan_with_experts();
  const double travel = 0.5 * 4 * 1000 * 100 / 1e7;
  const auto estimate = estimate_step(plan, Sharding::kAll, 2, 1, 100, 1e7);
  auto still = plan;
  still.experts->token_elements = 0;
  EXPECT_NEAR(estimate.seconds,
              estimate_step(still, Sharding::kAll, 2, 1, 100, 1e7).seconds + travel, 1e-9);
  const double times = estimate.tokens_for_95_percent.value() / 100;
  EXPECT_NEAR(estimate_step(plan, Sharding::kAll, 2, times, 100 * times, 1e7).efficiency, 0.95,
              1e-6);
  // Faster machines wait for the link, whatever they compute in a step.
  EXPECT_FALSE(estimate_step(plan, Sharding::kAll, 2, 0.1, 100, 1e7).tokens_for_95_percent);
}

TEST(RankPlan, ChoicesHaveExpertParallelismIfThereAreExperts) {
  EXPECT_EQ(rank_plan_choices(small_plan(), std::nullopt).size(), 4U);
  const auto choices = rank_plan_choices(small_plan(), plan_with_experts().experts);
  ASSERT_EQ(choices.size(), 5U);
  for (const auto& choice : choices) {
    EXPECT_EQ(choice.sizes.experts.has_value(), choice.name == "all, expert_parallel");
  }
}

}  // namespace
}  // namespace weft::train
