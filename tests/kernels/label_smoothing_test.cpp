#include "kernels/label_smoothing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/cross_entropy.h"
#include "support/tensors.h"

namespace weft::kernels {
namespace {

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
