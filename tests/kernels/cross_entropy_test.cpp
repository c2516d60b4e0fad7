#include "kernels/cross_entropy.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compare.h"
#include "kernels/reference.h"
#include "kernels/softmax.h"
#include "support/tensors.h"

namespace weft::kernels {
namespace {

class CrossEntropy : public comparison::EveryVariant {};

TEST_P(CrossEntropy, LogSumExpEqualsLibTorch) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int64_t columns : {1, 7, 8, 15, 16, 17, 1000}) {
    auto x = (at::randn({5, columns}) * 10.0 - 300.0).to(type());
    x.select(0, 1).fill_(-infinity);
    x.select(0, 2).slice(0, 1).fill_(-infinity);
    x.select(0, 3).slice(0, 0, columns - 1).fill_(-infinity);
    const auto expected = x.to(at::kDouble).logsumexp(1);
    EXPECT_TRUE(at::allclose(log_sum_exp(x).to(at::kDouble), expected, 1e-6, 1e-5)) << columns;
  }
  const std::vector<float> row{0.5F, 2.0F, -1.0F};
  EXPECT_NEAR(log_sum_exp(row), std::log(std::exp(0.5) + std::exp(2.0) + std::exp(-1.0)), 1e-6);
}

at::Tensor targets_of(int64_t rows, int64_t classes) {
  auto targets = at::randint(classes, {rows}, at::kLong);
  if (rows > 2) {
    targets[1] = -100;
  }
  return targets;
}

TEST_P(CrossEntropy, EqualsPlainReference) {
  for (const int64_t rows : {0, 1, 33}) {
    for (const int64_t classes : {2, 19, 1000}) {
      const auto targets = targets_of(rows, classes);
      comparison::expect_same(
          [&](const auto& in) { return cross_entropy_sum(in[0], targets); },
          [&](const auto& in) { return reference::cross_entropy_sum(in[0], targets); },
          {at::randn({rows, classes}) * 4.0}, type());
    }
  }
}

TEST_P(CrossEntropy, LinearEqualsPlainReference) {
  for (const int64_t rows : {0, 1, 33}) {
    const auto targets = targets_of(rows, 131);
    const std::vector<at::Tensor> inputs{at::randn({rows, 24}), at::randn({131, 24}) * 0.3,
                                         at::randn({131})};
    comparison::expect_same(
        [&](const auto& in) { return linear_cross_entropy(in[0], in[1], in[2], targets); },
        [&](const auto& in) {
          return reference::linear_cross_entropy(in[0], in[1], in[2], targets);
        },
        inputs, type());
    comparison::expect_same(
        [&](const auto& in) { return linear_cross_entropy(in[0], in[1], {}, targets); },
        [&](const auto& in) { return reference::linear_cross_entropy(in[0], in[1], {}, targets); },
        {inputs[0], inputs[1]}, type());
  }
}

TEST_P(CrossEntropy, ChunksAddUp) {
  // Against fp64: LibTorch's sum over this many classes is less accurate than ours.
  ASSERT_LT(logit_chunk_rows(40000, 4, 2), 450);
  const auto targets = targets_of(900, 40000);
  comparison::expect_same(
      [&](const auto& in) { return linear_cross_entropy(in[0], in[1], in[2], targets); },
      [&](const auto& in) {
        const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
        return reference::linear_cross_entropy(wide(in[0]), wide(in[1]), wide(in[2]), targets);
      },
      {at::randn({900, 4}), at::randn({40000, 4}), at::randn({40000})}, type());
}

TEST(CrossEntropyChunks, GrowWithTheWeightBetweenBounds) {
  EXPECT_EQ(logit_chunk_rows(8192, 384, 2), 1024);   // 16 MiB
  EXPECT_EQ(logit_chunk_rows(16384, 640, 2), 1280);  // twice the width
  EXPECT_EQ(logit_chunk_rows(131072, 768, 4), 128);  // 64 MiB
  EXPECT_EQ(logit_chunk_rows(1 << 30, 768, 4), 1);
}

TEST_P(CrossEntropy, HugeLogitsStayFinite) {
  const auto logits =
      at::tensor({1e30F, -1e30F, 0.0F, 80.0F, 90.0F, 100.0F}).view({2, 3}).to(type());
  const auto loss = cross_entropy_sum(logits, at::tensor({0, 2}, at::kLong)).item<double>();
  EXPECT_NEAR(loss, std::log1p(std::exp(-10.0)) + std::exp(-20.0), 0.05);
  EXPECT_TRUE(std::isfinite(loss));
}

TEST_P(CrossEntropy, NumberOfThreadsChangesNoBit) {
  const auto targets = targets_of(300, 500);
  const std::vector<at::Tensor> inputs{at::randn({300, 500})};
  const auto once = [&] {
    return comparison::run([&](const auto& in) { return cross_entropy_sum(in[0], targets); },
                           inputs, type());
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, once), comparison::with_threads(3, once)));
}

INSTANTIATE_TEST_SUITE_P(Levels, CrossEntropy, comparison::kVariants, comparison::variant_name);

TEST(CrossEntropyByHand, TwoEqualLogitsCostLogTwo) {
  const auto loss = cross_entropy_sum(at::zeros({3, 2}), at::tensor({0, 1, -100}, at::kLong));
  EXPECT_NEAR(loss.item<double>(), 2.0 * std::log(2.0), 1e-6);
}

TEST(CrossEntropyTargets, OutOfRangeAreRefused) {
  EXPECT_THROW(cross_entropy_sum(at::zeros({1, 2}), at::tensor({2}, at::kLong)), c10::Error);
}

TEST(CrossEntropyDouble, DependsOnTheUnpackedRows) {
  const auto targets = targets_of(9, 5);
  const auto x = at::randn({9, 5});
  const auto actual = comparison::run(
      [&](const auto& in) { return cross_entropy_sum(in[0], targets); }, {x}, at::kDouble);
  const auto expected =
      comparison::run([&](const auto& in) { return reference::cross_entropy_sum(in[0], targets); },
                      {x}, at::kDouble);
  for (size_t i = 0; i < actual.size(); ++i) {
    comparison::expect_near(actual[i], expected[i], {.absolute = 1e-12, .relative = 0.0}, "double");
  }
}

at::Tensor label_smoothing_values(at::IntArrayRef shape, double phase) {
  return (at::arange(at::tensor(shape).prod().item<int64_t>(), at::kDouble) * 7.3 + phase)
      .sin()
      .view(shape)
      .to(at::kFloat);
}

struct LabelSmoothingInputs {
  at::Tensor x = label_smoothing_values({6, 4}, 1).requires_grad_();
  at::Tensor weight = label_smoothing_values({9, 4}, 2).requires_grad_();
  at::Tensor bias = label_smoothing_values({9}, 3).requires_grad_();
  at::Tensor targets = at::tensor({3, 0, 8, 3, 1, 5}, at::kLong);

  at::Tensor smoothed(double share) const {
    return linear_cross_entropy(x, weight, bias, targets) +
           share * label_smoothing_term(x, weight, bias, targets);
  }
  at::Tensor expected(double share) const {
    return at::cross_entropy_loss(at::linear(x, weight, bias), targets, {}, at::Reduction::Sum,
                                  -100, share);
  }
};

TEST(LabelSmoothing, EqualsTorchWithGradients) {
  for (const double share : {0.1, 0.4}) {
    const LabelSmoothingInputs ours;
    const LabelSmoothingInputs theirs;
    const auto found = ours.smoothed(share);
    const auto wanted = theirs.expected(share);
    EXPECT_NEAR(found.item<double>(), wanted.item<double>(), 1e-5);
    found.backward();
    wanted.backward();
    EXPECT_TRUE(test::near(ours.x.grad(), theirs.x.grad(), 1e-5));
    EXPECT_TRUE(test::near(ours.weight.grad(), theirs.weight.grad(), 1e-5));
    EXPECT_TRUE(test::near(ours.bias.grad(), theirs.bias.grad(), 1e-5));
  }
}

TEST(LabelSmoothing, LeadByHand) {
  // Logits 1, 3 and 5 of one row: their mean is 3, the last leads it by 2.
  const auto x = at::ones({1, 1});
  const auto weight = at::tensor({1.0F, 3.0F, 5.0F}).unsqueeze(1);
  EXPECT_NEAR(label_smoothing_term(x, weight, {}, at::tensor({2}, at::kLong)).item<double>(), 2,
              1e-6);
}

}  // namespace
}  // namespace weft::kernels
