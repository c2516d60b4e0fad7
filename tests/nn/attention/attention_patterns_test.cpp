#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/attention/attention_cpu.h"
#include "kernels/flop_counter.h"
#include "nn/attention/attention_layers.h"
#include "support/context.h"
#include "support/tensors.h"

/// Attention over mask patterns: where it is full attention or another pattern, which tokens it
/// shows, and how many scores it computes.
namespace weft::nn {
namespace {

TEST(AttentionLimits, PatternsThatShowAllAreFull) {
  for (const bool is_causal : {false, true}) {
    for (const std::string keys :
         {"type: block_local, block: 64", "type: strided, stride: 1",
          "type: dilated, window: 130, dilation: [1]", "type: multi_scale, windows: [all]",
          "type: multi_scale, windows: [130, 1000]",
          "type: sparse_transformer, mix: merged, stride: 64",
          "type: hybrid, patterns: [{type: window, window: 3}, {type: strided, stride: 1}]",
          "type: hybrid, patterns: [{type: global, tokens: 64}]"}) {
      test::expect_equal_types(keys, "type: full", is_causal);
    }
    test::expect_equal_types("type: sparse_transformer, mix: layers, stride: 1", "type: full",
                             is_causal, 64, 1);
    test::expect_equal_types(
        "type: sparse_transformer, mix: layers, mode: fixed, stride: 7, summary: 7", "type: full",
        is_causal, 64, 1);
    test::expect_equal_types("type: sparse_transformer, mix: layers, stride: 64", "type: full",
                             is_causal, 64, 0);
  }
  test::expect_equal_types("type: block_local, block: 10, look_back: 6", "type: full", true);
  test::expect_equal_types("type: block_local, blocks: 1", "type: full", false);
  test::expect_equal_types("type: block_local, block: 64, shift_heads: true", "type: full", false);
  test::expect_equal_types("type: big_bird, block: 4, random_blocks: 0, window_blocks: 31",
                           "type: full", false);
  test::expect_equal_types("type: big_bird, block: 8, random_blocks: 3", "type: full",
                           false);  // short
}

TEST(AttentionLimits, PatternsAreOneAnother) {
  for (const bool is_causal : {false, true}) {
    test::expect_equal_types("type: dilated, window: 8, dilation: [1]", "type: window, window: 8",
                             is_causal);
    test::expect_equal_types("type: dilated, window: 40, dilation: [4]", "type: strided, stride: 4",
                             is_causal);
    test::expect_equal_types("type: multi_scale, windows: [8]", "type: window, window: 8",
                             is_causal);
    test::expect_equal_types("type: hybrid, patterns: [{type: window, window: 8}]",
                             "type: window, window: 8", is_causal);
    test::expect_equal_types("type: hybrid, combine: heads, patterns: [{type: window, window: 8}]",
                             "type: window, window: 8", is_causal);
    test::expect_equal_types(
        "type: hybrid, patterns: [{type: window, window: 8}, {type: strided, stride: 5}]",
        "type: hybrid, patterns: [{type: strided, stride: 5}, {type: window, window: 8}]",
        is_causal);
    test::expect_equal_types(
        "type: hybrid, patterns: [{type: window, window: 8}, {type: window, window: 4}]",
        "type: window, window: 8", is_causal);
  }
  test::expect_equal_types(
      "type: big_bird, block: 4, random_blocks: 0, window_blocks: 1",
      "type: hybrid, patterns: [{type: block_local, block: 4}, {type: global, "
      "tokens: 4}, {type: big_bird, block: 4, random_blocks: 0, window_blocks: 1}]",
      false);
}

using Visible = std::function<bool(int64_t length, int64_t head, int64_t i, int64_t j)>;

struct PatternCase {
  std::string keys;
  bool is_causal;
  Visible visible;
};

std::vector<PatternCase> pattern_cases() {
  const auto near = [](int64_t i, int64_t j, int64_t radius) { return std::abs(i - j) <= radius; };
  return {
      {"type: block_local, block: 5, look_back: 1", false,
       [](auto, auto, auto i, auto j) { return j / 5 == i / 5 || j / 5 == i / 5 - 1; }},
      {"type: block_local, blocks: 3", false,
       [](auto l, auto, auto i, auto j) {
         const auto size = (l + 2) / 3;
         return i / size == j / size;
       }},
      {"type: block_local, block: 6, shift_heads: true", false,
       [](auto l, auto head, auto i, auto j) { return j / 6 == (i / 6 + head) % ((l + 5) / 6); }},
      {"type: strided, stride: 6", true,
       [](auto, auto, auto i, auto j) { return j <= i && (i - j) % 6 == 0; }},
      {"type: strided", false,
       [](auto l, auto, auto i, auto j) {
         const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(l))));
         return (i - j) % root == 0;
       }},
      {"type: dilated, window: 8, dilation: [1, 3]", false,
       [=](auto, auto head, auto i, auto j) {
         const auto dilation = head % 2 == 0 ? 1 : 3;
         return near(i, j, 4 * dilation) && (i - j) % dilation == 0;
       }},
      {"type: dilated, window: 4, dilation: [2]", true,
       [](auto, auto, auto i, auto j) { return j <= i && i - j <= 6 && (i - j) % 2 == 0; }},
      {"type: multi_scale, windows: [2, 1/4, all, 6]", false,
       [=](auto l, auto head, auto i, auto j) {
         const std::vector<int64_t> radius{1, l / 4 / 2, l, 3};
         return near(i, j, radius[static_cast<std::size_t>(head)]);
       }},
      {"type: sparse_transformer, stride: 7", true,
       [](auto, auto head, auto i, auto j) {
         return j <= i && (head % 2 == 0 ? i - j < 7 : (i - j) % 7 == 0);
       }},
      {"type: sparse_transformer, stride: 7, mix: merged", true,
       [](auto, auto, auto i, auto j) { return j <= i && (i - j < 7 || (i - j) % 7 == 0); }},
      {"type: sparse_transformer, stride: 7, mode: fixed, summary: 2, mix: merged", true,
       [](auto, auto, auto i, auto j) { return j <= i && (i / 7 == j / 7 || j % 7 >= 5); }},
      {"type: big_bird, block: 3, random_blocks: 0, window_blocks: 3", false,
       [](auto l, auto, auto i, auto j) {
         const auto last = (l - 1) / 3;
         const auto is_global = [&](auto block) { return block == 0 || block == last; };
         return l <= 15 || is_global(i / 3) || is_global(j / 3) || std::abs(i / 3 - j / 3) <= 1;
       }},
      {"type: hybrid, patterns: [{type: window, window: 4}, {type: global, tokens: 2}]", true,
       [=](auto, auto, auto i, auto j) { return j <= i && (i - j < 4 || j < 2 || i < 2); }},
  };
}

// From the formula; the computed scores are counted.
TEST(AttentionPatterns, ShowAndComputeWhatTheirFormulasSay) {
  for (const auto& [keys, is_causal, visible] : pattern_cases()) {
    const auto layer = test::attention_layer(keys, test::attention_options(is_causal));
    for (const int64_t length : {1, 2, 5, 16, 33, 70}) {
      const auto context = test::context_of({0, length});
      const auto x = test::attention_tokens(length);
      const auto weights = layer->weights(x, context)[0];
      int64_t shown = 0;
      for (int64_t head = 0; head < test::kAttentionHeads; ++head) {
        for (int64_t i = 0; i < length; ++i) {
          for (int64_t j = 0; j < length; ++j) {
            const bool is_visible = visible(length, head, i, j);
            shown += is_visible ? 1 : 0;
            ASSERT_EQ(weights[head][i][j].item<float>() > 0, is_visible)
                << keys << ", length " << length << ", head " << head << ": " << i << " " << j;
          }
        }
      }
      const kernels::FlopCounter counter;
      layer->forward(x, context);
      const auto projections =
          2 * length * test::kAttentionDim * (3 * test::kAttentionDim + test::kAttentionDim);
      const auto of_pairs = counter.flops() - projections;
      EXPECT_EQ(of_pairs, kernels::kForwardProducts * 2 * shown *
                              (test::kAttentionDim / test::kAttentionHeads))
          << keys << ", length " << length;
    }
  }
}

/// Pairs (from, to) that n layers connect: the relation composed with itself.
at::Tensor reached(const at::Tensor& relation, int layers) {
  auto result = relation;
  for (int layer = 1; layer < layers; ++layer) {
    result = at::matmul(result, relation).gt(0).to(at::kFloat);
  }
  return result;
}

at::Tensor relation_of(const std::string& keys, bool is_causal, int64_t length) {
  const auto layer = test::attention_layer(keys, test::attention_options(is_causal));
  const auto weights =
      layer->weights(test::attention_tokens(length), test::context_of({0, length}))[0];
  return weights.amax({0}).gt(0).to(at::kFloat);
}

TEST(SparseTransformerAttention, TwoLayersConnectAllEarlierPairs) {
  for (const std::string mode : {"strided", "fixed, summary: 1"}) {
    for (const int64_t length : {60, 61, 64}) {
      for (const std::string stride : {"7", "8"}) {
        const auto relation = relation_of(
            "type: sparse_transformer, mix: merged, mode: " + mode + ", stride: " + stride, true,
            length);
        EXPECT_TRUE(at::equal(reached(relation, 2), at::ones({length, length}).tril()))
            << mode << " " << stride << " " << length;
      }
    }
  }
}

TEST(BigBirdAttention, RandomBlocksShortenThePaths) {
  const auto farthest = [](const std::string& keys) {
    const auto relation = relation_of(keys, false, 192);
    for (int layers = 1;; ++layers) {
      if (reached(relation, layers).min().item<float>() > 0) {
        return layers;
      }
    }
  };
  EXPECT_EQ(farthest("type: full"), 1);
  EXPECT_EQ(farthest("type: big_bird, block: 3, random_blocks: 3"), 2);  // through the globals
  const auto seed = [](const std::string& number) {
    return relation_of("type: big_bird, block: 3, random_blocks: 2, seed: " + number, false, 192);
  };
  EXPECT_TRUE(at::equal(seed("1"), seed("1")));
  EXPECT_FALSE(at::equal(seed("1"), seed("2")));
  // Blocks: own, two neighbours, first and last, and two random ones.
  const auto layer = test::attention_layer("type: big_bird, block: 3, random_blocks: 2",
                                           test::attention_options(false));
  const auto weights = layer->weights(test::attention_tokens(192), test::context_of({0, 192}))[0];
  EXPECT_EQ(weights[0][90].gt(0).sum().item<int64_t>(), 7 * 3);
  EXPECT_FALSE(at::equal(weights[0].gt(0), weights[1].gt(0)));
}

}  // namespace
}  // namespace weft::nn
