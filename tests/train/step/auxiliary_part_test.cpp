#include "train/step/auxiliary_part.h"

#include <map>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace weft::train {
namespace {

nn::AuxiliaryLoss gate_share(const at::Tensor& sum, const at::Tensor& counts) {
  return {.name = "gate",
          .sum = sum,
          .unit = nn::LossUnit::kSequences,
          .weight = 2,
          .share = nn::SequenceShare{.counts = counts, .targets = at::tensor({0.5F, 0.25F})}};
}

/// Two layers: shares (1 + 2) / (2 + 4) = 0.5 and (3 + 0) / (3 + 1) = 0.75; |share - target| is 0
/// and 0.5, over four sequences of the step.
TEST(AuxiliaryPart, SharesOfAllLayersAreAddedUpBeforeTheDeviation) {
  const auto first = at::tensor({1.0F, 3.0F}).requires_grad_();
  const auto second = at::tensor({2.0F, 0.0F}).requires_grad_();
  nn::AuxiliaryLosses losses;
  losses.add(gate_share(first, at::tensor({2.0F, 3.0F})));
  losses.add(gate_share(second, at::tensor({4.0F, 1.0F})));
  const auto part = add_auxiliary_losses({}, losses, nn::CarriedState(),
                                         {.terms = {1}, .tokens = 100, .sequences = 4});
  EXPECT_FLOAT_EQ(part.loss.item<float>(), 2 * 0.5 / 4);
  const std::map<std::string, at::Tensor> logged(part.logged.begin(), part.logged.end());
  EXPECT_FLOAT_EQ(logged.at("gate_share").item<float>(), (0.5 + 0.75) / 4);
  EXPECT_FLOAT_EQ(logged.at("gate_deviation").item<float>(), 0.5 / 4);
  part.loss.backward();
  EXPECT_FLOAT_EQ(first.grad()[1].item<float>(), 2.0 / 4 / 4);  // weight / count / sequences
  EXPECT_FLOAT_EQ(second.grad()[1].item<float>(), 2.0 / 4 / 4);
}

TEST(AuxiliaryPart, SequencesWithoutRowsHaveNoDeviation) {
  nn::AuxiliaryLosses losses;
  losses.add(gate_share(at::tensor({0.0F, 1.0F}), at::tensor({0.0F, 4.0F})));
  const auto part = add_auxiliary_losses(at::zeros({}).requires_grad_(), losses, nn::CarriedState(),
                                         {.terms = {1}, .tokens = 4, .sequences = 2});
  const std::map<std::string, at::Tensor> logged(part.logged.begin(), part.logged.end());
  EXPECT_EQ(logged.at("gate_deviation").item<float>(), 0);
}

}  // namespace
}  // namespace weft::train
