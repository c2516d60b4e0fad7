#include "nn/pooling/pooling.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/tensors.h"

namespace weft::nn {
namespace {

// Two sequences, of three tokens and of one.
const kernels::Layout kLayout = kernels::Layout::from_offsets({0, 3, 4}, at::kCPU);

at::Tensor hidden() { return at::tensor({1.F, 8.F, 2.F, -6.F, 6.F, 1.F, 5.F, 7.F}).view({4, 2}); }

at::Tensor pooling_rows(std::initializer_list<float> values) {
  return at::tensor(at::ArrayRef<float>(values.begin(), values.size())).view({2, 2});
}

TEST(SentencePooling, EachKindByHand) {
  const auto is = [](SentencePooling pooling, std::initializer_list<float> expected) {
    return test::near(pool(hidden(), kLayout, pooling), pooling_rows(expected), 1e-6);
  };
  EXPECT_TRUE(is(SentencePooling::kClsToken, {1, 8, 5, 7}));
  EXPECT_TRUE(is(SentencePooling::kMax, {6, 8, 5, 7}));
  EXPECT_TRUE(is(SentencePooling::kMean, {3, 1, 5, 7}));
  EXPECT_TRUE(is(SentencePooling::kMeanSqrtLength, {5.1961524F, 1.7320508F, 5, 7}));  // 9 / sqrt 3
  EXPECT_TRUE(
      is(SentencePooling::kWeightedMean, {23.F / 6, -1.F / 6, 5, 7}));  // (1 + 2 * 2 + 3 * 6) / 6
  EXPECT_TRUE(is(SentencePooling::kLastToken, {6, 1, 5, 7}));
}

TEST(SentencePooling, SequenceDoesNotDependOnItsNeighbours) {
  const auto alone = kernels::Layout::from_offsets({0, 3}, at::kCPU);
  const auto together = pool(hidden(), kLayout, SentencePooling::kMean);
  EXPECT_TRUE(
      at::equal(pool(hidden().slice(0, 0, 3), alone, SentencePooling::kMean)[0], together[0]));
}

TEST(Pooler, IsTanhOfTheFirstToken) {
  PoolerImpl pooler(2);
  test::set_parameters(pooler,
                       {{"dense.weight", at::eye(2)}, {"dense.bias", at::tensor({0.0F, 1.0F})}});
  const auto hidden =
      at::arange(10, at::kFloat).view({5, 2}) / 10;  // rows begin with 0, 0.2, 0.4, ...
  const auto layout = kernels::Layout::from_offsets({0, 3, 5}, at::kCPU);
  const auto expected =
      at::tensor({std::tanh(0.0), std::tanh(1.1), std::tanh(0.6), std::tanh(1.7)}).view({2, 2});
  EXPECT_TRUE(test::near(pooler.forward(first_tokens(hidden, layout)), expected));
}

}  // namespace
}  // namespace weft::nn
