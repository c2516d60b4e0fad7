// What a GPU computes by LibTorch's kernels, computed by the same operations of LibTorch on the
// CPU, against the plain reference.
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/attention/flash_attention.h"
#include "kernels/attention/rotary.h"
#include "kernels/compare.h"
#include "kernels/optimizer.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using comparison::layout_of;

constexpr RngKey kGpuOperationsKey{
    .seed = 5, .step = 2, .site = 1, .first_row = 4, .first_sequence = 3};

class GpuOperations : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
};

INSTANTIATE_TEST_SUITE_P(Types,
                         GpuOperations,
                         ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& parameter) {
                           return parameter.param == at::kFloat ? "Fp32" : "Bf16";
                         });

TEST_P(GpuOperations, EmbeddingsAreThoseOfTheFormulas) {
  const std::vector<at::Tensor> inputs{at::randn({9, 8}), at::tensor({1, 8, 1, 1, 0}, at::kLong),
                                       at::randn({5, 8}), at::arange(5),
                                       at::randn({2, 8}), at::tensor({0, 1, 1, 1, 0}, at::kLong)};
  comparison::expect_same(
      [](const auto& in) {
        return reference::embedding_sum(in[0], in[1], in[2], in[3], in[4], in[5]);
      },
      [](const auto& in) {
        return in[0].index_select(0, in[1]) + in[2].index_select(0, in[3]) +
               in[4].index_select(0, in[5]);
      },
      inputs, GetParam());
}

class FlashAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    ASSERT_TRUE(gpu::has_flash_attention(at::kCPU));
  }

  static void compare(const std::vector<int64_t>& query_lengths,
                      const std::vector<int64_t>& key_lengths,
                      int64_t width,
                      const AttentionSettings& settings) {
    const auto queries = layout_of(query_lengths);
    const auto keys = layout_of(key_lengths);
    const auto groups = settings.key_heads_or_heads();
    const auto input = [](const auto& in) {
      return AttentionInput{.query = in[0], .key = in[1], .value = in[2]};
    };
    comparison::expect_same(
        [&](const auto& in) {
          EXPECT_TRUE(gpu::supports_flash_attention(input(in), settings));
          return gpu::flash_attention(input(in), queries, keys, settings, kGpuOperationsKey);
        },
        [&](const auto& in) {
          return reference::attention(input(in), queries, keys, settings, kGpuOperationsKey);
        },
        {at::randn({queries.tokens(), settings.heads * width}),
         at::randn({keys.tokens(), groups * width}), at::randn({keys.tokens(), groups * width})},
        at::kBFloat16);
  }
};

TEST_F(FlashAttention, EqualsTheReference) {
  compare({5, 1, 33}, {5, 1, 33}, 16, {.heads = 2});
  compare({5, 1, 33}, {17, 64, 3}, 16, {.heads = 2, .scale = 1});
  compare({5, 0, 33}, {17, 4, 0}, 8, {.heads = 1});
  compare({5, 33}, {5, 33}, 16, {.heads = 2, .window_radius = 3});
}

TEST_F(FlashAttention, CausalQueriesEndWithTheKeys) {
  compare({5, 1, 33}, {5, 1, 33}, 16, {.heads = 2, .is_causal = true});
  compare({1, 5, 20}, {9, 5, 90}, 16, {.heads = 2, .is_causal = true});
  compare({5, 33}, {9, 40}, 16, {.heads = 2, .is_causal = true, .window_radius = 3});
}

TEST_F(FlashAttention, HeadsOfQueriesShareThoseOfKeys) {
  compare({5, 33}, {5, 33}, 16, {.heads = 6, .key_heads = 2, .is_causal = true});
}

TEST_F(FlashAttention, RotatesByTheTokenPositions) {
  const auto table = rotary_table(100, {.width = 16, .theta = 100.0}, at::kCPU);
  compare({5, 1, 33}, {5, 1, 33}, 16, {.heads = 2, .rotary = table});
  compare({1, 5, 20}, {9, 5, 90}, 16, {.heads = 2, .is_causal = true, .rotary = table});
  const auto half = rotary_table(100, {.width = 8, .theta = 100.0}, at::kCPU);
  compare({5, 33}, {5, 33}, 16, {.heads = 2, .rotary = half});
}

TEST_F(FlashAttention, FallsBackIfUnsupported) {
  const auto suits = [](at::ScalarType type, int64_t width, const AttentionSettings& settings,
                        std::vector<int64_t> begins = {}) {
    const auto x = at::zeros({4, 2 * width}, type);
    return gpu::supports_flash_attention(
        {.query = x, .key = x, .value = x, .key_begins = std::move(begins)}, settings);
  };
  EXPECT_TRUE(suits(at::kHalf, 64, {.heads = 2}));
  EXPECT_TRUE(suits(at::kHalf, 64, {.heads = 2, .is_causal = true, .prefix_lengths = {0, 0}}));
  EXPECT_FALSE(suits(at::kFloat, 64, {.heads = 2}));
  EXPECT_FALSE(suits(at::kHalf, 12, {.heads = 2}));
  EXPECT_FALSE(suits(at::kHalf, 256, {.heads = 2}));
  EXPECT_FALSE(suits(at::kHalf, 64, {.heads = 2, .is_causal = true, .prefix_lengths = {0, 1}}));
  EXPECT_FALSE(suits(at::kHalf, 64, {.heads = 2, .distance_bias = at::zeros({2, 3})}));
  EXPECT_FALSE(suits(at::kHalf, 64, {.heads = 2}, {0, 2}));
}

TEST_F(FlashAttention, DropsWeightsDeterministically) {
  const auto layout = layout_of({50, 60});
  const auto x = at::randn({110, 16}, at::kBFloat16);
  const auto attend = [&](double p, const RngKey& rng_key) {
    return gpu::flash_attention({.query = x, .key = x, .value = x}, layout, layout,
                                {.heads = 2, .dropout = p}, rng_key);
  };
  const auto once = attend(0.2, kGpuOperationsKey);
  EXPECT_TRUE(at::equal(once, attend(0.2, kGpuOperationsKey)));
  EXPECT_FALSE(at::equal(once, attend(0.0, kGpuOperationsKey)));
  auto other = kGpuOperationsKey;
  other.first_sequence += 2;
  EXPECT_FALSE(at::equal(once, attend(0.2, other)));
  auto mean = at::zeros({110, 16}, at::kDouble);
  for (uint64_t step = 0; step < 400; ++step) {
    mean += attend(0.2, {.seed = 1, .step = step});
  }
  comparison::expect_near(mean / 400, attend(0.0, kGpuOperationsKey),
                          {.absolute = 0.02, .relative = 0.05}, "mean");
}

// On the CPU gradients of fp16, which the fused kernels do not support, take LibTorch's update.
TEST(GpuOptimizer, StepsAsTheCpuDoes) {
  at::manual_seed(1);
  const auto start = at::randn({300});
  const auto make = [&](at::ScalarType type) {
    return UpdateSlice{.master = start.clone(),
                       .compute = start.to(at::kBFloat16),
                       .gradient = at::zeros({300}, type),
                       .first = at::zeros({300}),
                       .second = at::zeros({300})};
  };
  const auto own = make(at::kFloat);
  const auto other = make(at::kHalf);
  for (int64_t step = 1; step <= 4; ++step) {
    const auto gradient = at::randn({300}, at::kHalf);
    own.gradient.copy_(gradient);
    other.gradient.copy_(gradient);
    const AdamwRule rule{
        .lr = 0.01, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-6, .weight_decay = 0.1, .step = step};
    adamw(own, rule, 0.5);
    adamw(other, rule, 0.5);
  }
  comparison::expect_near(other.master, own.master, {.absolute = 1e-6, .relative = 1e-6}, "master");
  comparison::expect_near(other.first, own.first, {.absolute = 1e-7, .relative = 1e-6}, "first");
  comparison::expect_near(other.second, own.second, {.absolute = 1e-7, .relative = 1e-6}, "second");
  EXPECT_TRUE(at::equal(other.compute, other.master.to(at::kBFloat16)));
  EXPECT_EQ(other.gradient.abs().max().item<double>(), 0.0);
}

}  // namespace
}  // namespace weft::kernels
