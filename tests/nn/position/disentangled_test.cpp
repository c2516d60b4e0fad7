#include <vector>

#include <gtest/gtest.h>

#include "nn/position/position_types.h"
#include "nn/stack.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kDisentangledDim = 16;

/// Buckets of transformers' make_log_bucket_position for the distances -2,000 to 2,000.
TEST(Disentangled, BucketsAreThoseOfTransformers) {
  struct Case {
    DisentangledOptions options;
    std::vector<int64_t> buckets;  // of the distances below
    int64_t sum;                   // of bucket times distance
  };
  const std::vector<int64_t> distances{-2000, -511, -300, -129, -128, -5,  0,   3,
                                       127,   128,  129,  130,  200,  400, 511, 600};
  const std::vector<Case> cases{
      {{.buckets = 256, .max_distance = 512},
       {-381, -255, -207, -129, -128, -5, 0, 3, 127, 128, 129, 130, 169, 233, 255, 270},
       1340062850},
      {{.buckets = 32, .max_distance = 128},
       {-51, -42, -38, -32, -32, -5, 0, 3, 31, 32, 32, 32, 35, 40, 42, 43},
       191388928},
      {{.buckets = 8, .max_distance = 40},
       {-13, -11, -10, -9, -9, -5, 0, 3, 9, 9, 9, 9, 10, 11, 11, 11},
       48168612},
      {{.buckets = 256, .max_distance = 4096},
       {-229, -179, -160, -129, -128, -5, 0, 3, 127, 128, 129, 129, 145, 170, 179, 185},
       843702660}};
  for (const auto& [options, buckets, sum] : cases) {
    std::vector<int64_t> found;
    for (const auto distance : distances) {
      found.push_back(disentangled_bucket(distance, options));
    }
    EXPECT_EQ(found, buckets) << options.buckets;
    int64_t total = 0;
    for (int64_t distance = -2000; distance <= 2000; ++distance) {
      total += distance * disentangled_bucket(distance, options);
    }
    EXPECT_EQ(total, sum) << options.buckets;
  }
  EXPECT_EQ(disentangled_bucket(-700, {.buckets = 0, .max_distance = 512}), -700);
}

/// A stack of two layers with these keys of `position`, in evaluation.
struct DisentangledStack {
  explicit DisentangledStack(const std::vector<std::pair<std::string, std::string>>& keys,
                             int64_t key_heads = 0) {
    auto section = test::section("model.position", keys);
    StackOptions options;
    options.positions = {
        position_types().at("disentangled").read(section)({.hidden_dim = kDisentangledDim})};
    options.layers.assign(
        2,
        {.attention = {.dim = kDisentangledDim, .heads = 4, .key_heads = key_heads, .dropout = 0},
         .make_attention = make_full_attention,
         .feed_forward = {.dim = kDisentangledDim, .width = 8},
         .norm = {.dim = kDisentangledDim},
         .dropout = 0});
    stack = Stack(options);
    test::fill_parameters(*stack);
  }

  at::Tensor operator()(const at::Tensor& x, const std::vector<int64_t>& offsets) {
    return stack->forward(x, test::context_of(offsets));
  }

  Stack stack{nullptr};
};

at::Tensor disentangled_tokens(int64_t count) {
  return at::arange(count * kDisentangledDim, at::kFloat)
      .mul(1.7)
      .sin()
      .view({count, kDisentangledDim});
}

TEST(Disentangled, FusedKernelsComputeWhatPlainAttentionComputes) {
  for (const std::string shares : {"true", "false"}) {
    const std::vector<std::pair<std::string, std::string>> keys{
        {"buckets", "4"}, {"max_distance", "8"}, {"share_projections", shares}};
    DisentangledStack fused(keys);
    const auto x = disentangled_tokens(17);
    const auto expected = fused(x, {0, 12, 17});
    // fp64 has no vector kernels.
    fused.stack->to(at::kDouble);
    EXPECT_TRUE(test::near(fused(x.to(at::kDouble), {0, 12, 17}).to(at::kFloat), expected));
  }
}

TEST(Disentangled, SharedKeyHeadsUseThePlainAttention) {
  DisentangledStack grouped({{"buckets", "4"}, {"max_distance", "8"}}, 2);
  const auto x = disentangled_tokens(9);
  const auto together = grouped(at::cat({x, x}), {0, 9, 18});
  EXPECT_TRUE(test::near(together.slice(0, 9), grouped(x, {0, 9})));
  EXPECT_FALSE(test::near(grouped(x.flip(0), {0, 9}).flip(0), grouped(x, {0, 9})));
}

TEST(Disentangled, ATermWithoutVectorsIsNone) {
  DisentangledStack both({{"buckets", "4"}, {"max_distance", "8"}});
  const auto x = disentangled_tokens(9);
  const auto before = both(x, {0, 9});
  const at::NoGradGuard guard;
  for (const auto& parameter : both.stack->named_parameters()) {
    if (parameter.key().find("distances.norm") != std::string::npos) {
      parameter.value().zero_();  // of all vectors
    }
    if (parameter.key().ends_with("qkv.bias")) {
      parameter.value().zero_();
    }
  }
  const auto without = both(x, {0, 9});
  EXPECT_FALSE(test::near(without, before));
  EXPECT_TRUE(test::near(both(x.flip(0), {0, 9}).flip(0), without));  // no order is left
}

TEST(Disentangled, NeedAVectorForSomething) {
  for (const auto& keys : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"buckets", "3"}},
           {{"buckets", "64"}, {"max_distance", "32"}},
           {{"content_to_position", "false"}, {"position_to_content", "false"}}}) {
    auto section = test::section("model.position", keys);
    EXPECT_THROW(position_types().at("disentangled").read(section), config::Error);
  }
}

}  // namespace
}  // namespace weft::nn
