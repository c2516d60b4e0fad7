#include "train/optimizer/ema_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

namespace weft::train {
namespace {

class WeightAverageToy : public torch::nn::Module {
 public:
  WeightAverageToy() {
    weight_ = register_parameter("weight", at::full({2, 2}, 1.0));
    still_ = register_parameter("still", at::full({3}, 5.0));
    still_.set_requires_grad(false);
  }
  at::Tensor weight_, still_;
};

// From 1, weights 2 then 4, d = 0.75: 0.75 + 0.5 = 1.25, then 0.9375 + 1 = 1.9375.
TEST(EmaWeights, MatchesTheManualComputation) {
  WeightAverageToy toy;
  const at::NoGradGuard no_grad;
  FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  EmaWeights ema({.decay = 0.75, .warms_up = false}, flat_parameters);
  toy.weight_.fill_(2);
  ema.update(1);
  EXPECT_EQ(ema.values()[0].item<float>(), 1.25F);
  toy.weight_.fill_(4);
  ema.update(2);
  EXPECT_EQ(ema.values()[0].item<float>(), 1.9375F);
  EXPECT_EQ(ema.values().numel(), flat_parameters.trained_size());
}

// d after update 1 is 2/11, after update 2 3/12; after many the option's.
TEST(EmaWeights, DecaysFasterInTheWarmUp) {
  WeightAverageToy toy;
  const at::NoGradGuard no_grad;
  FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  EmaWeights ema({.decay = 0.75, .warms_up = true}, flat_parameters);
  toy.weight_.fill_(12);
  ema.update(1);
  EXPECT_FLOAT_EQ(ema.values()[0].item<float>(), 10);  // 2/11 * 1 + 9/11 * 12
  ema.update(2);
  EXPECT_FLOAT_EQ(ema.values()[0].item<float>(), 11.5);  // 1/4 * 10 + 3/4 * 12
  ema.update(1000);
  EXPECT_FLOAT_EQ(ema.values()[0].item<float>(), 11.625);  // 3/4 * 11.5 + 1/4 * 12
}

TEST(EmaWeights, IsWhatTheModuleComputesOnWhileInUse) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    WeightAverageToy toy;
    const at::NoGradGuard no_grad;
    FlatParameters flat_parameters(toy, type, DecayOn::kMatrices);
    EmaWeights ema({.decay = 0.75, .warms_up = false}, flat_parameters);
    FlatParameters::parameter_view(flat_parameters.master(), flat_parameters.at("weight"))
        .fill_(0.1);
    flat_parameters.refresh_compute_copy();
    ema.update(1);  // 0.775
    const auto master = flat_parameters.master().clone();
    const auto computed = toy.weight_.clone();
    {
      const EmaWeights::EmaScope ema_scope(ema);
      EXPECT_TRUE(at::equal(toy.weight_, at::full({2, 2}, 0.775).to(type)));
      EXPECT_TRUE(at::equal(toy.still_, at::full({3}, 5.0).to(type)));
    }
    EXPECT_TRUE(at::equal(flat_parameters.master(), master));
    EXPECT_TRUE(at::equal(toy.weight_, computed));
    EXPECT_FLOAT_EQ(ema.values()[0].item<float>(), 0.775F);
  }
}

}  // namespace
}  // namespace weft::train
