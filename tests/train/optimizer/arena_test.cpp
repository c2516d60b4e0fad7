#include "train/optimizer/arena.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/optimizer.h"
#include "nn/module.h"

namespace weft::train {
namespace {

// y = (x W + b) W^T: one weight used twice, under two names.
class ArenaToy : public nn::Module {
 public:
  ArenaToy() {
    weight_ = register_parameter("weight", at::arange(6, at::kFloat).view({2, 3}) / 8);
    bias_ = register_parameter("bias", at::ones({3}));
    register_parameter("tied", weight_);
    last_ = register_parameter("last", at::full({2, 2}, 0.5));
  }
  at::Tensor loss(const at::Tensor& x) {
    const auto wide = x.to(weight_.scalar_type());
    return (at::matmul(at::matmul(wide, weight_) + bias_, weight_.t()).matmul(last_))
        .square()
        .sum();
  }
  at::Tensor weight_, bias_, last_;
};

TEST(Arena, PlacesWhatDecaysFirstAndAtMultiplesOf64Bytes) {
  ArenaToy toy;
  const Arena arena(toy, at::kFloat, DecayOn::kMatrices);
  ASSERT_EQ(arena.entries().size(), 3);
  EXPECT_TRUE(arena.at("weight").decays);
  EXPECT_FALSE(arena.at("bias").decays);
  EXPECT_LT(arena.at("weight").begin, arena.at("last").begin);
  ASSERT_EQ(arena.segments().size(), 2);
  EXPECT_TRUE(arena.segments()[0].decays);
  EXPECT_EQ(arena.segments()[0].begin, 0);
  EXPECT_FALSE(arena.segments()[1].decays);
  EXPECT_EQ(arena.segments()[1].begin, kernels::kUpdateBlock);  // at a block of the update
  EXPECT_EQ(arena.at("bias").begin, arena.segments()[1].begin);
  EXPECT_EQ(arena.segments()[1].begin + arena.segments()[1].count, arena.size());
  EXPECT_EQ(arena.parameters(), 6 + 3 + 4);
  for (const auto& entry : arena.entries()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(entry.parameter.data_ptr()) % 64, 0) << entry.name;
  }
}

TEST(Arena, CountsATiedWeightOnce) {
  ArenaToy toy;
  const Arena arena(toy, at::kFloat, DecayOn::kMatrices);
  EXPECT_EQ(&arena.at("tied"), &arena.at("weight"));
}

TEST(Arena, EverythingDecaysWhereAllShall) {
  ArenaToy toy;
  const Arena arena(toy, at::kFloat, DecayOn::kAll);
  EXPECT_TRUE(arena.at("bias").decays);
  ASSERT_EQ(arena.segments().size(), 1);
  EXPECT_EQ(arena.segments()[0].count, arena.size());
}

TEST(Arena, KeepsValuesAndCollectsTheSameGradients) {
  ArenaToy plain;
  const auto x = at::arange(4, at::kFloat).view({2, 2});
  plain.loss(x).backward();

  ArenaToy toy;
  Arena arena(toy, at::kFloat, DecayOn::kMatrices);
  EXPECT_TRUE(at::equal(toy.weight_, plain.weight_));
  toy.loss(x).backward();
  EXPECT_TRUE(at::equal(Arena::part(arena.gradient(), arena.at("weight")), plain.weight_.grad()));
  EXPECT_TRUE(at::equal(Arena::part(arena.gradient(), arena.at("bias")), plain.bias_.grad()));

  toy.loss(x).backward();  // a second one is added in place
  EXPECT_TRUE(
      at::equal(Arena::part(arena.gradient(), arena.at("weight")), plain.weight_.grad() * 2));
}

TEST(Arena, ModuleSeesWhatIsWrittenToTheMaster) {
  ArenaToy toy;
  const Arena arena(toy, at::kFloat, DecayOn::kMatrices);
  Arena::part(arena.master(), arena.at("weight")).fill_(7);
  EXPECT_TRUE(at::equal(toy.weight_, at::full({2, 3}, 7.0F)));
}

TEST(Arena, ComputesOnABf16CopyOfTheMaster) {
  ArenaToy toy;
  Arena arena(toy, at::kBFloat16, DecayOn::kMatrices);
  EXPECT_EQ(toy.weight_.scalar_type(), at::kBFloat16);
  EXPECT_EQ(arena.master().scalar_type(), at::kFloat);
  toy.loss(at::ones({2, 2})).backward();
  EXPECT_EQ(arena.gradient().scalar_type(), at::kBFloat16);
  EXPECT_GT(arena.gradient().abs().sum().item<float>(), 0);

  Arena::part(arena.master(), arena.at("bias")).fill_(0.1);
  EXPECT_TRUE(at::equal(toy.bias_, at::ones({3}).to(at::kBFloat16)));
  arena.refresh_compute();
  EXPECT_TRUE(at::equal(toy.bias_, at::full({3}, 0.1).to(at::kBFloat16)));
}

TEST(Arena, FrozenParametersHaveWeightsAndNothingElse) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    ArenaToy toy;
    const auto before = toy.weight_.detach().clone();
    toy.weight_.set_requires_grad(false);
    Arena arena(toy, type, DecayOn::kMatrices);
    EXPECT_FALSE(arena.at("weight").is_trained);
    EXPECT_EQ(arena.parameters(), 6 + 3 + 4);
    EXPECT_EQ(arena.trained_parameters(), 3 + 4);
    EXPECT_EQ(arena.at("weight").begin, arena.trained_size());
    EXPECT_EQ(arena.gradient().numel(), arena.trained_size());
    EXPECT_EQ(arena.make_flat().numel(), arena.trained_size());
    EXPECT_LT(arena.trained_size(), arena.size());
    EXPECT_EQ(toy.weight_.scalar_type(), type);

    toy.loss(at::ones({2, 2})).backward();
    EXPECT_FALSE(toy.weight_.grad().defined());
    EXPECT_GT(toy.bias_.grad().abs().sum().item<float>(), 0);
    EXPECT_TRUE(at::equal(Arena::part(arena.master(), arena.at("weight")), before));
  }
}

TEST(Arena, CutsTheTrainedPartWhereRatesChange) {
  ArenaToy toy;
  const Arena arena(toy, at::kFloat, DecayOn::kMatrices,
                    [](const std::string& name) { return name == "last" ? 0.5 : 2.0; });
  ASSERT_EQ(arena.segments().size(), 3);  // weight, last; bias
  EXPECT_EQ(arena.segments()[0].rate, 2.0);
  EXPECT_EQ(arena.segments()[1].rate, 0.5);
  EXPECT_EQ(arena.segments()[1].begin, arena.at("last").begin);
  EXPECT_TRUE(arena.segments()[1].decays);
  EXPECT_EQ(arena.segments()[2].rate, 2.0);
  EXPECT_FALSE(arena.segments()[2].decays);
  int64_t end = 0;
  for (const auto& segment : arena.segments()) {
    EXPECT_EQ(segment.begin, kernels::blocks_of(end) * kernels::kUpdateBlock);
    end = segment.begin + segment.count;
  }
  EXPECT_EQ(end, arena.trained_size());
}

TEST(Arena, GivesEachParameterASegmentWhereAsked) {
  ArenaToy toy;
  const Arena arena(toy, at::kFloat, DecayOn::kMatrices, {}, Segments::kOfOneParameter);
  ASSERT_EQ(arena.segments().size(), arena.entries().size());
  int64_t parameters = 0;
  for (const auto& segment : arena.segments()) {
    EXPECT_EQ(segment.begin % kernels::kUpdateBlock, 0);
    EXPECT_EQ(std::count_if(arena.entries().begin(), arena.entries().end(),
                            [&](const auto& entry) {
                              return entry.begin == segment.begin &&
                                     entry.count == segment.parameters;
                            }),
              1);
    parameters += segment.parameters;
  }
  EXPECT_EQ(parameters, arena.trained_parameters());
}

}  // namespace
}  // namespace weft::train
