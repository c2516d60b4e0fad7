#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include "base/string_util.h"
#include "train/distributed/forked_ranks.h"
#include "train/distributed/outer_optimizer.h"

namespace weft::train {
namespace {

using Texts = std::vector<std::string>;

DilocoOptions options_of(double lr, double momentum) {
  return {.every = config::Duration{.amount = 5}, .lr = lr, .momentum = momentum};
}

/// What rank `rank` changes in round `round`.
at::Tensor change(const at::Tensor& weights, int rank, int round) {
  return 0.01 * (weights * (rank + 1) + round).sin();
}

class OuterOptimizerRanks : public ::testing::TestWithParam<int> {};

TEST_P(OuterOptimizerRanks, AveragesWeightsWithoutMomentum) {
  const auto results = test::run_in_group(GetParam(), [](ProcessGroup& group) -> std::string {
    const at::NoGradGuard no_grad;
    at::manual_seed(1);
    torch::nn::Linear module(37, 29);
    FlatParameters flat(*module, at::kFloat, DecayOn::kMatrices);
    OuterOptimizer outer(options_of(1, 0), flat, group);
    const auto before = flat.trained_master().clone();
    at::Tensor mean = at::zeros_like(before);
    for (int rank = 0; rank < group.size(); ++rank) {
      mean += (before + change(before, rank, 0)) / group.size();
    }
    outer.begin_step(1);
    flat.trained_master().add_(change(before, group.rank(), 0));
    outer.update();
    const bool is_mean = flat.trained_master().allclose(mean, 1e-6, 1e-7);
    const bool is_changed = !flat.trained_master().equal(before);
    return str_cat(is_mean, is_changed,
                   module->weight.flatten()[5].item<float>() == flat.master()[5].item<float>());
  });
  EXPECT_EQ(results, Texts(static_cast<std::size_t>(GetParam()), "111"));
}

// The changes of all ranks are known to each, so each can do the same with torch's optimizer.
TEST_P(OuterOptimizerRanks, IsSgdWithNesterovMomentumOnTheMeanChange) {
  const auto results = test::run_in_group(GetParam(), [](ProcessGroup& group) -> std::string {
    at::manual_seed(1);
    torch::nn::Linear module(37, 29);
    FlatParameters flat(*module, at::kFloat, DecayOn::kMatrices);
    OuterOptimizer outer(options_of(0.7, 0.9), flat, group);
    auto wanted = flat.trained_master().clone().set_requires_grad(true);
    torch::optim::SGD sgd({wanted}, torch::optim::SGDOptions(0.7).momentum(0.9).nesterov(true));
    std::string digits;
    for (int round = 0; round < 4; ++round) {
      const at::NoGradGuard no_grad;
      const auto before = flat.trained_master().clone();
      auto sum = at::zeros_like(before);
      for (int rank = 0; rank < group.size(); ++rank) {
        sum -= change(before, rank, round);
      }
      wanted.mutable_grad() = sum / group.size();
      sgd.step();
      outer.begin_step(round + 1);
      flat.trained_master().add_(change(before, group.rank(), round));
      outer.update();
      if (!flat.trained_master().allclose(wanted, 1e-5, 1e-6)) {
        return str_cat("wrong in round ", round);
      }
    }
    const auto bytes = flat.trained_master().contiguous();
    const std::string own(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
    const auto all = group.gather(own);
    return all.front() == own && all.back() == own ? "equal" : "ranks differ";
  });
  EXPECT_EQ(results, Texts(static_cast<std::size_t>(GetParam()), "equal"));
}

INSTANTIATE_TEST_SUITE_P(Of, OuterOptimizerRanks, ::testing::Values(1, 2, 3));

TEST(OuterOptimizer, RoundsBeginAtTheStartStep) {
  torch::nn::Linear module(3, 2);
  FlatParameters flat(*module, at::kFloat, DecayOn::kMatrices);
  auto options = options_of(1, 0);
  options.start_step = 3;
  OuterOptimizer outer(options, flat, single_process());
  const at::NoGradGuard no_grad;
  std::vector<int> local;
  std::vector<int> due;
  for (int step = 1; step <= 14; ++step) {
    if (outer.begin_step(step)) {
      local.push_back(step);
    }
    flat.trained_master().add_(1);
    if (outer.is_local(step) && outer.is_due(step)) {
      due.push_back(step);
      const auto before = flat.trained_master().clone();
      outer.update();  // with lr 1 and without momentum nothing changes in one process
      EXPECT_TRUE(flat.trained_master().allclose(before)) << step;
    }
  }
  EXPECT_EQ(local.front(), 4);
  EXPECT_EQ(local.size(), 11U);
  EXPECT_EQ(due, (std::vector<int>{8, 13}));
}

TEST(OuterOptimizer, ExchangesAtMultiplesOfItsInterval) {
  torch::nn::Linear module(3, 2);
  FlatParameters flat(*module, at::kFloat, DecayOn::kMatrices);
  const OuterOptimizer outer(options_of(1, 0), flat, single_process());
  std::vector<int> due;
  for (int step = 1; step <= 12; ++step) {
    if (outer.is_due(step)) {
      due.push_back(step);
    }
  }
  EXPECT_EQ(due, (std::vector<int>{5, 10}));
}

}  // namespace
}  // namespace weft::train
