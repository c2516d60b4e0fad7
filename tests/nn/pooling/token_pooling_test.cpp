#include "nn/pooling/token_pooling.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr TokenPoolingOptions kTruncated;
constexpr TokenPoolingOptions kKeepsLast{.truncate_seq = false};
constexpr TokenPoolingOptions kAll{.separate_cls = false};

std::vector<int64_t> lengths_after(int64_t length, const TokenPoolingOptions& options) {
  std::vector<int64_t> lengths;
  for (int i = 0; i < 2; ++i) {
    length = pooled_length(length, options);
    lengths.push_back(length);
  }
  return lengths;
}

/// Rows (N, 1) with these values.
at::Tensor rows_of(const std::vector<float>& values) { return at::tensor(values).unsqueeze(1); }

using Lengths = std::vector<int64_t>;

TEST(TokenPooling, HalvesTheLengths) {
  for (const auto& options : {kTruncated, kAll}) {
    EXPECT_EQ(lengths_after(8, options), (Lengths{4, 2}));
    EXPECT_EQ(lengths_after(5, options), (Lengths{3, 2}));
    EXPECT_EQ(lengths_after(1, options), (Lengths{1, 1}));
  }
  EXPECT_EQ(lengths_after(2, kTruncated), (Lengths{2, 2})) << "the first token stays apart";
  EXPECT_EQ(lengths_after(2, kAll), (Lengths{1, 1}));
  EXPECT_EQ(lengths_after(8, kKeepsLast), (Lengths{5, 3}));
  EXPECT_EQ(lengths_after(5, kKeepsLast), (Lengths{3, 2}));
}

TEST(TokenPooling, PoolsTheTokensOfEachSequence) {
  const auto context = test::context_of({0, 6, 8, 9});
  const auto rows = rows_of({1, 2, 4, 8, 16, 32, 64, 128, 256});
  const auto pooled = [&](const TokenPoolingOptions& options) {
    const auto result = pool_tokens(rows, context, options);
    EXPECT_EQ(result.context.layout.offsets, pooled_layout(context.layout, 1, options).offsets);
    return result.rows;
  };
  EXPECT_TRUE(test::near(pooled(kTruncated), rows_of({1, 3, 12, 64, 128, 256})));
  EXPECT_TRUE(test::near(pooled(kKeepsLast), rows_of({1, 3, 12, 32, 64, 128, 256})));
  EXPECT_TRUE(test::near(pooled(kAll), rows_of({1.5, 6, 24, 96, 256})));
  EXPECT_TRUE(test::near(pooled({.type = TokenPoolingType::kMax, .separate_cls = false}),
                         rows_of({2, 8, 32, 128, 256})));
}

TEST(TokenPooling, ARowDependsOnItsWindowOnly) {
  const auto rows = rows_of({3, 1, 4, 1.5, 5, 9}).requires_grad_();
  const auto pooled = pool_tokens(rows, test::context_of({0, 6}), kTruncated).rows;
  EXPECT_TRUE(test::near(torch::autograd::grad({pooled[1][0]}, {rows})[0],
                         rows_of({0, 0.5, 0.5, 0, 0, 0})));
}

TEST(TokenPooling, TheContextIsThatOfThePooledRows) {
  auto context = test::context_of({0, 4, 7});
  context.token_types = at::tensor({2, 0, 1, 1, 2, 1, 0}, at::kLong);
  context.first_row = 9;
  context.earlier_lengths = Lengths{1, 3, 5};
  const auto pooled = pool_tokens(at::zeros({7, 1}), context, kTruncated).context;
  EXPECT_EQ(pooled.layout.offsets, (Lengths{0, 2, 4}));
  EXPECT_EQ(pooled.stride, 2);
  EXPECT_TRUE(at::equal(pooled.token_types, at::tensor({2, 0, 2, 1}, at::kLong)));
  EXPECT_EQ(*pooled.earlier_lengths, (Lengths{1, 2, 3}));
  EXPECT_EQ(pooled.first_row, 6);
}

TEST(TokenPooling, UpsamplingRepeatsTheRows) {
  const auto tokens = test::context_of({0, 8, 9, 11}).layout;
  const auto after = [&](const TokenPoolingOptions& options, const at::Tensor& rows) {
    return upsample_tokens(rows, pooled_layout(tokens, 2, options), tokens, 4, options);
  };
  EXPECT_TRUE(test::near(after(kTruncated, rows_of({1, 2, 3, 4, 5})),
                         rows_of({1, 2, 2, 2, 2, 0, 0, 0, 3, 4, 5})))
      << "no window contains the last tokens";
  EXPECT_TRUE(test::near(after(kKeepsLast, rows_of({1, 2, 3, 4, 5, 6})),
                         rows_of({1, 2, 2, 2, 2, 3, 3, 3, 4, 5, 6})));
  EXPECT_TRUE(
      test::near(after(kAll, rows_of({1, 2, 3, 4})), rows_of({1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4})));
}

}  // namespace
}  // namespace weft::nn
