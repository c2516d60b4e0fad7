#include "nn/auxiliary_losses.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kAuxiliaryDim = 4;

/// y = x W; its auxiliary loss is the sum of y^2.
class PenalizedFeedForward : public FeedForward {
 public:
  explicit PenalizedFeedForward(const FeedForwardOptions& options) {
    weight_ = register_parameter("weight", at::eye(options.dim) * 0.5);
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto y = at::matmul(x, weight_);
    if (context.auxiliary_losses != nullptr) {
      context.auxiliary_losses->add({.name = "penalty", .sum = y.square().sum(), .weight = 0.1});
    }
    return y;
  }

 private:
  at::Tensor weight_;
};

struct PenaltyRun {
  double sum = 0;
  std::vector<at::Tensor> gradients;
};

/// Two layers; the loss is the sum of the output and of the weighted auxiliary losses.
PenaltyRun run_penalized(bool recomputes) {
  const BlockOptions block{.order = "f",
                           .feed_forward = {.dim = kAuxiliaryDim},
                           .make_feed_forward =
                               [](const FeedForwardOptions& options) {
                                 return std::make_shared<PenalizedFeedForward>(options);
                               },
                           .norm = {.dim = kAuxiliaryDim},
                           .norm_placement = NormPlacement::kPre,
                           .dropout = 0};
  StackImpl stack({.layers = {block, block}});
  for (auto& item : stack.named_parameters()) {
    if (item.key().ends_with("norm.weight")) {
      item.value().set_data(at::ones_like(item.value()));
    } else if (item.key().ends_with("norm.bias")) {
      item.value().set_data(at::zeros_like(item.value()));
    }
  }
  AuxiliaryLosses losses;
  auto context = test::context_of({0, 2, 5});
  context.recomputes_layers = recomputes;
  context.auxiliary_losses = &losses;
  const auto x = at::arange(20, at::kFloat).view({5, kAuxiliaryDim}).mul(0.3).sin();
  auto loss = stack.forward(x, context).sum();
  EXPECT_EQ(losses.all().size(), 2U);
  PenaltyRun run;
  for (const auto& each : losses.all()) {
    EXPECT_EQ(each.name, "penalty");
    loss = loss + each.weight * each.sum;
    run.sum += each.sum.item<double>();
  }
  loss.backward();
  for (const auto& item : stack.named_parameters()) {
    run.gradients.push_back(item.value().grad().clone());
  }
  return run;
}

TEST(AuxiliaryLosses, AreExactWithActivationCheckpointing) {
  const auto plain = run_penalized(false);
  const auto recomputed = run_penalized(true);
  EXPECT_GT(plain.sum, 0);
  EXPECT_EQ(plain.sum, recomputed.sum);
  ASSERT_EQ(plain.gradients.size(), recomputed.gradients.size());
  for (std::size_t i = 0; i < plain.gradients.size(); ++i) {
    EXPECT_TRUE(at::equal(plain.gradients[i], recomputed.gradients[i])) << i;
  }
}

}  // namespace
}  // namespace weft::nn
