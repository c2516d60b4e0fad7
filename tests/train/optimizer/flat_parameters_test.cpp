#include "train/optimizer/flat_parameters.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "kernels/optimizer.h"

namespace weft::train {
namespace {

// y = (x W + b) W^T: one weight used twice, under two names.
class ArenaToy : public torch::nn::Module {
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

TEST(FlatParameters, PutsDecayedParametersFirstAlignedTo64Bytes) {
  ArenaToy toy;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  ASSERT_EQ(flat_parameters.entries().size(), 3);
  EXPECT_TRUE(flat_parameters.at("weight").settings.decays);
  EXPECT_FALSE(flat_parameters.at("bias").settings.decays);
  EXPECT_LT(flat_parameters.at("weight").begin, flat_parameters.at("last").begin);
  ASSERT_EQ(flat_parameters.segments().size(), 2);
  EXPECT_TRUE(flat_parameters.segments()[0].settings.decays);
  EXPECT_EQ(flat_parameters.segments()[0].begin, 0);
  EXPECT_FALSE(flat_parameters.segments()[1].settings.decays);
  EXPECT_EQ(flat_parameters.segments()[1].begin, kernels::kSumBlock);
  EXPECT_EQ(flat_parameters.at("bias").begin, flat_parameters.segments()[1].begin);
  EXPECT_EQ(flat_parameters.segments()[1].begin + flat_parameters.segments()[1].count,
            flat_parameters.size());
  EXPECT_EQ(flat_parameters.parameters(), 6 + 3 + 4);
  for (const auto& entry : flat_parameters.entries()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(entry.parameter.data_ptr()) % 64, 0) << entry.name;
  }
}

TEST(FlatParameters, CountsATiedWeightOnce) {
  ArenaToy toy;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  EXPECT_EQ(&flat_parameters.at("tied"), &flat_parameters.at("weight"));
}

TEST(FlatParameters, AllParametersDecayWithDecayOnAll) {
  ArenaToy toy;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kAll);
  EXPECT_TRUE(flat_parameters.at("bias").settings.decays);
  ASSERT_EQ(flat_parameters.segments().size(), 1);
  EXPECT_EQ(flat_parameters.segments()[0].count, flat_parameters.size());
}

TEST(FlatParameters, KeepsValuesAndCollectsTheSameGradients) {
  ArenaToy plain;
  const auto x = at::arange(4, at::kFloat).view({2, 2});
  plain.loss(x).backward();

  ArenaToy toy;
  FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  EXPECT_TRUE(at::equal(toy.weight_, plain.weight_));
  toy.loss(x).backward();
  EXPECT_TRUE(at::equal(
      FlatParameters::parameter_view(flat_parameters.gradient(), flat_parameters.at("weight")),
      plain.weight_.grad()));
  EXPECT_TRUE(at::equal(
      FlatParameters::parameter_view(flat_parameters.gradient(), flat_parameters.at("bias")),
      plain.bias_.grad()));

  toy.loss(x).backward();  // a second one is added in place
  EXPECT_TRUE(at::equal(
      FlatParameters::parameter_view(flat_parameters.gradient(), flat_parameters.at("weight")),
      plain.weight_.grad() * 2));
}

TEST(FlatParameters, ModuleSharesMemoryWithTheMaster) {
  ArenaToy toy;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  FlatParameters::parameter_view(flat_parameters.master(), flat_parameters.at("weight")).fill_(7);
  EXPECT_TRUE(at::equal(toy.weight_, at::full({2, 3}, 7.0F)));
}

TEST(FlatParameters, ComputesOnABf16CopyOfTheMaster) {
  ArenaToy toy;
  FlatParameters flat_parameters(toy, at::kBFloat16, DecayOn::kMatrices);
  EXPECT_EQ(toy.weight_.scalar_type(), at::kBFloat16);
  EXPECT_EQ(flat_parameters.master().scalar_type(), at::kFloat);
  toy.loss(at::ones({2, 2})).backward();
  EXPECT_EQ(flat_parameters.gradient().scalar_type(), at::kBFloat16);
  EXPECT_GT(flat_parameters.gradient().abs().sum().item<float>(), 0);

  FlatParameters::parameter_view(flat_parameters.master(), flat_parameters.at("bias")).fill_(0.1);
  EXPECT_TRUE(at::equal(toy.bias_, at::ones({3}).to(at::kBFloat16)));
  flat_parameters.refresh_compute_copy();
  EXPECT_TRUE(at::equal(toy.bias_, at::full({3}, 0.1).to(at::kBFloat16)));
}

TEST(FlatParameters, FrozenParametersHaveWeightsAndNothingElse) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    ArenaToy toy;
    const auto before = toy.weight_.detach().clone();
    toy.weight_.set_requires_grad(false);
    FlatParameters flat_parameters(toy, type, DecayOn::kMatrices);
    EXPECT_FALSE(flat_parameters.at("weight").is_trained);
    EXPECT_EQ(flat_parameters.parameters(), 6 + 3 + 4);
    EXPECT_EQ(flat_parameters.trained_parameters(), 3 + 4);
    EXPECT_EQ(flat_parameters.at("weight").begin, flat_parameters.trained_size());
    EXPECT_EQ(flat_parameters.gradient().numel(), flat_parameters.trained_size());
    EXPECT_EQ(flat_parameters.zeros_like_trained().numel(), flat_parameters.trained_size());
    EXPECT_LT(flat_parameters.trained_size(), flat_parameters.size());
    EXPECT_EQ(toy.weight_.scalar_type(), type);

    toy.loss(at::ones({2, 2})).backward();
    EXPECT_FALSE(toy.weight_.grad().defined());
    EXPECT_GT(toy.bias_.grad().abs().sum().item<float>(), 0);
    EXPECT_TRUE(at::equal(
        FlatParameters::parameter_view(flat_parameters.master(), flat_parameters.at("weight")),
        before));
  }
}

TEST(FlatParameters, SplitsTheTrainedRangeWhereLearningRatesChange) {
  ArenaToy toy;
  const FlatParameters flat_parameters(
      toy, at::kFloat, [](const std::string& name, const at::Tensor& parameter) {
        return ParameterSettings{.decays = parameter.dim() >= 2,
                                 .lr_scale = name == "last" ? 0.5 : 2.0};
      });
  ASSERT_EQ(flat_parameters.segments().size(), 3);  // weight, last; bias
  EXPECT_EQ(flat_parameters.segments()[0].settings.lr_scale, 2.0);
  EXPECT_EQ(flat_parameters.segments()[1].settings.lr_scale, 0.5);
  EXPECT_EQ(flat_parameters.segments()[1].begin, flat_parameters.at("last").begin);
  EXPECT_TRUE(flat_parameters.segments()[1].settings.decays);
  EXPECT_EQ(flat_parameters.segments()[2].settings.lr_scale, 2.0);
  EXPECT_FALSE(flat_parameters.segments()[2].settings.decays);
  int64_t end = 0;
  for (const auto& segment : flat_parameters.segments()) {
    EXPECT_EQ(segment.begin,
              (end + kernels::kSumBlock - 1) / kernels::kSumBlock * kernels::kSumBlock);
    end = segment.begin + segment.count;
  }
  EXPECT_EQ(end, flat_parameters.trained_size());
}

TEST(FlatParameters, GivesEachParameterASegmentWhereAsked) {
  ArenaToy toy;
  const FlatParameters flat_parameters(
      toy, at::kFloat, [](const std::string& /*name*/, const at::Tensor& parameter) {
        return ParameterSettings{.decays = parameter.dim() >= 2, .has_own_segment = true};
      });
  ASSERT_EQ(flat_parameters.segments().size(), flat_parameters.entries().size());
  int64_t parameters = 0;
  for (const auto& segment : flat_parameters.segments()) {
    EXPECT_EQ(segment.begin % kernels::kSumBlock, 0);
    EXPECT_EQ(std::count_if(flat_parameters.entries().begin(), flat_parameters.entries().end(),
                            [&](const auto& entry) {
                              return entry.begin == segment.begin &&
                                     entry.count == segment.parameters;
                            }),
              1);
    parameters += segment.parameters;
  }
  EXPECT_EQ(parameters, flat_parameters.trained_parameters());
}

TEST(FlatParameters, CutsTheTrainedPartAtGroups) {
  ArenaToy toy;
  const FlatParameters flat_parameters(
      toy, at::kFloat, [](const std::string& name, const at::Tensor& parameter) {
        return ParameterSettings{.group = name == "weight" ? 1U : 0U,
                                 .decays = parameter.dim() >= 2};
      });
  ASSERT_EQ(flat_parameters.segments().size(), 3);  // last, bias; weight
  EXPECT_EQ(flat_parameters.segments()[0].members.front().name, "last");
  EXPECT_EQ(flat_parameters.segments()[1].members.front().name, "bias");
  EXPECT_EQ(flat_parameters.segments()[2].members.front().name, "weight");
  EXPECT_EQ(flat_parameters.segments()[2].settings.group, 1);
  EXPECT_EQ(flat_parameters.segments()[2].begin % kernels::kSumBlock, 0);
  EXPECT_EQ(flat_parameters.segments()[2].begin, flat_parameters.at("weight").begin);
}

TEST(FlatParameters, SegmentsKnowTheShapesOfTheirParameters) {
  ArenaToy toy;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  const auto& segment = flat_parameters.segments()[0];
  ASSERT_EQ(segment.members.size(), 2);
  EXPECT_EQ(segment.members[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(segment.members[1].shape, (std::vector<int64_t>{2, 2}));
  const auto weights = flat_parameters.master().narrow(0, segment.begin, segment.count);
  EXPECT_TRUE(at::equal(segment.members[0].view(weights), toy.weight_));
  EXPECT_TRUE(at::equal(segment.members[1].view(weights), toy.last_));
}

}  // namespace
}  // namespace weft::train
