#include "train/optimizer/weight_average.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "nn/module.h"

namespace weft::train {
namespace {

class WeightAverageToy : public nn::Module {
 public:
  WeightAverageToy() {
    weight_ = register_parameter("weight", at::full({2, 2}, 1.0));
    still_ = register_parameter("still", at::full({3}, 5.0));
    still_.set_requires_grad(false);
  }
  at::Tensor weight_, still_;
};

// From 1, weights 2 then 4, d = 0.75: 0.75 + 0.5 = 1.25, then 0.9375 + 1 = 1.9375.
TEST(WeightAverage, EqualsTheOneByHand) {
  WeightAverageToy toy;
  const at::NoGradGuard no_grad;
  Arena arena(toy, at::kFloat, DecayOn::kMatrices);
  WeightAverage average({.decay = 0.75, .warms_up = false}, arena);
  toy.weight_.fill_(2);
  average.add(1);
  EXPECT_EQ(average.values()[0].item<float>(), 1.25F);
  toy.weight_.fill_(4);
  average.add(2);
  EXPECT_EQ(average.values()[0].item<float>(), 1.9375F);
  EXPECT_EQ(average.values().numel(), arena.trained_size());
}

// d after update 1 is 2/11, after update 2 3/12; after many the option's.
TEST(WeightAverage, KeepsLittleInTheWarmUp) {
  WeightAverageToy toy;
  const at::NoGradGuard no_grad;
  Arena arena(toy, at::kFloat, DecayOn::kMatrices);
  WeightAverage average({.decay = 0.75, .warms_up = true}, arena);
  toy.weight_.fill_(12);
  average.add(1);
  EXPECT_FLOAT_EQ(average.values()[0].item<float>(), 10);  // 2/11 * 1 + 9/11 * 12
  average.add(2);
  EXPECT_FLOAT_EQ(average.values()[0].item<float>(), 11.5);  // 1/4 * 10 + 3/4 * 12
  average.add(1000);
  EXPECT_FLOAT_EQ(average.values()[0].item<float>(), 11.625);  // 3/4 * 11.5 + 1/4 * 12
}

TEST(WeightAverage, IsWhatTheModuleComputesOnWhileInUse) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    WeightAverageToy toy;
    const at::NoGradGuard no_grad;
    Arena arena(toy, type, DecayOn::kMatrices);
    WeightAverage average({.decay = 0.75, .warms_up = false}, arena);
    Arena::part(arena.master(), arena.at("weight")).fill_(0.1);
    arena.refresh_compute();
    average.add(1);  // 0.775
    const auto master = arena.master().clone();
    const auto computed = toy.weight_.clone();
    {
      const WeightAverage::InUse in_use(average);
      EXPECT_TRUE(at::equal(toy.weight_, at::full({2, 2}, 0.775).to(type)));
      EXPECT_TRUE(at::equal(toy.still_, at::full({3}, 5.0).to(type)));
    }
    EXPECT_TRUE(at::equal(arena.master(), master));
    EXPECT_TRUE(at::equal(toy.weight_, computed));
    EXPECT_FLOAT_EQ(average.values()[0].item<float>(), 0.775F);
  }
}

}  // namespace
}  // namespace weft::train
