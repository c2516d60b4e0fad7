#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "support/config.h"
#include "support/tensors.h"
#include "train/optimizer/optimizer.h"

namespace weft::train {
namespace {

OptimizerOptions lion_of(const std::string& weight_decay, const std::string& betas) {
  return read_optimizer_options(test::section(
      "train.optimizer", {{"type", "lion"}, {"weight_decay", weight_decay}, {"betas", betas}}));
}

class LionToy : public torch::nn::Module {
 public:
  explicit LionToy(const at::Tensor& start) {
    weights_ = register_parameter("weights", start.clone());
  }
  at::Tensor weights_;
};

// betas 0.5 and 0.75, lr 0.1, decay 0.5, so weights shrink by 0.95. First step, m = 0: the sign is
// that of g. m = 0.25 g = [1, -1, 0]. Second step: 0.5 m + 0.5 g = [-0.5, -1.5, 0.5].
TEST(Lion, TakesTheHandComputedSteps) {
  LionToy toy(at::tensor({1.0F, -2.0F, 0.5F}));
  const at::NoGradGuard no_grad;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kAll);
  Optimizer optimizer(lion_of("0.5", "[0.5, 0.75]"), flat_parameters);
  toy.weights_.grad().copy_(at::tensor({2.0F, -2.0F, 0.0F}));
  optimizer.update(flat_parameters.gradient(), 0.1, 2.0);  // scaled: 4, -4, 0
  EXPECT_TRUE(test::near(toy.weights_, at::tensor({0.85F, -1.8F, 0.475F}), 1e-6));
  toy.weights_.grad().copy_(at::tensor({-2.0F, -2.0F, 1.0F}));
  optimizer.update(flat_parameters.gradient(), 0.1, 1.0);
  EXPECT_TRUE(test::near(toy.weights_, at::tensor({0.9075F, -1.61F, 0.35125F}), 1e-6));
  const auto momentum =
      FlatParameters::parameter_view(optimizer.moments()[0].second, flat_parameters.entries()[0]);
  EXPECT_EQ(optimizer.moments()[0].first, "momentum");
  EXPECT_TRUE(test::near(momentum, at::tensor({0.25F, -1.25F, 0.25F}), 1e-6));
}

// More numbers than are updated at once.
TEST(Lion, EqualsALoopOverNumbers) {
  constexpr int64_t kSize = 300'001;
  at::manual_seed(2);
  LionToy toy(at::randn({kSize}));
  const at::NoGradGuard no_grad;
  std::vector<float> weights(toy.weights_.const_data_ptr<float>(),
                             toy.weights_.const_data_ptr<float>() + kSize);
  std::vector<float> momentum(kSize, 0);
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kAll);
  Optimizer optimizer(lion_of("0.1", "[0.9, 0.99]"), flat_parameters);
  for (int step = 1; step <= 4; ++step) {
    const auto gradient = at::randn({kSize});
    const auto* const g = gradient.const_data_ptr<float>();
    const double lr = 0.01 / step;
    for (int64_t i = 0; i < kSize; ++i) {
      const double direction = 0.9 * momentum[i] + 0.1 * g[i];
      weights[i] = static_cast<float>((1 - lr * 0.1) * weights[i] - (direction > 0   ? lr
                                                                     : direction < 0 ? -lr
                                                                                     : 0));
      momentum[i] = static_cast<float>(0.99 * momentum[i] + 0.01 * g[i]);
    }
    toy.weights_.grad().copy_(gradient);
    optimizer.update(flat_parameters.gradient(), lr, 1.0);
  }
  // A direction within rounding of zero may have the other sign.
  const auto difference = (toy.weights_ - at::tensor(weights)).abs();
  EXPECT_LE((difference > 1e-5).sum().item<int64_t>(), 3);
  EXPECT_TRUE(
      test::near(optimizer.moments()[0].second.narrow(0, 0, kSize), at::tensor(momentum), 1e-5));
}

TEST(Lion, FindsTheLeastSquares) {
  at::manual_seed(4);
  const auto x = at::randn({64, 8});
  const auto wanted = at::randn({8, 3});
  const auto y = x.matmul(wanted);
  LionToy toy(at::zeros({8, 3}));
  FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  Optimizer optimizer(lion_of("0", "[0.9, 0.99]"), flat_parameters);
  for (int step = 0; step < 1000; ++step) {
    (x.matmul(toy.weights_) - y).square().mean().backward();
    optimizer.update(flat_parameters.gradient(), 0.02 * (1 - step / 1000.0), 1.0);
  }
  EXPECT_LT((toy.weights_ - wanted).abs().max().item<float>(), 0.02);
}

}  // namespace
}  // namespace weft::train
