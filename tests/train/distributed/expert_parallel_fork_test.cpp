#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/string_util.h"
#include "nn/feed_forward/feed_forward.h"
#include "support/components.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"
#include "train/distributed/expert_parallel.h"
#include "train/distributed/forked_ranks.h"

namespace weft::train {
namespace {

constexpr int64_t kExpertDim = 8;
constexpr int64_t kTokens = 40;
constexpr int64_t kSequence = 5;

std::shared_ptr<nn::FeedForward> mixture_of(const std::string& keys) {
  auto mixture =
      test::component(nn::feed_forward_types(), "feed_forward", "type: mixture_of_experts, " + keys)
          .make({.dim = kExpertDim, .width = 12, .dropout = 0.25});
  test::fill_parameters(*mixture);
  return mixture;
}

at::Tensor tokens() {
  return (at::arange(kTokens * kExpertDim, at::kDouble) * 1.7)
      .sin()
      .view({kTokens, kExpertDim})
      .to(at::kFloat);
}

/// Of the tokens from `first` on.
nn::ForwardContext training_context(int64_t first, int64_t count) {
  std::vector<int64_t> offsets{0};
  while (offsets.back() < count) {
    offsets.push_back(offsets.back() + kSequence);
  }
  auto context = test::context_of(std::move(offsets));
  context.is_training = true;
  context.first_row = first;
  context.first_sequence = first / kSequence;
  return context;
}

struct Results {
  at::Tensor outputs;
  at::Tensor input_gradient;
  std::map<std::string, at::Tensor> gradients;  // of parameters that were used
};

Results run(nn::FeedForward& mixture, int64_t first, int64_t count) {
  const auto x = tokens().narrow(0, first, count).clone().requires_grad_();
  const auto y = mixture.forward(x, training_context(first, count));
  (y.square().sum() + x.sum()).backward();
  Results results{.outputs = y.detach(), .input_gradient = x.grad(), .gradients = {}};
  for (const auto& item : mixture.named_parameters()) {
    if (item.value().grad().defined()) {
      results.gradients[item.key()] = item.value().grad().clone();
    }
  }
  return results;
}

/// First token of a rank: rank 1 of several has none.
int64_t first_token(int rank, int ranks) {
  return rank == 1 ? first_token(2, ranks) : kTokens / kSequence * rank / ranks * kSequence;
}

/// What differs from one process, or an empty text.
std::string difference(ProcessGroup& group, const std::string& keys) {
  const int ranks = group.size();
  const int rank = group.rank();
  const auto first = first_token(rank, ranks);
  const auto count = first_token(rank + 1, ranks) - first;
  const auto whole = run(*mixture_of(keys), 0, kTokens);
  const auto mixture = mixture_of(keys);
  const auto owners = expert_owners(*mixture, ranks);
  {
    const at::NoGradGuard no_grad;
    for (auto& item : mixture->named_parameters()) {  // those of other ranks are not used
      const auto owner = owners.find(item.key().substr(0, item.key().find('.')));
      if (owner != owners.end() && owner->second != rank) {
        item.value().fill_(std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  const ExpertParallel expert_parallel(*mixture, group);
  const auto own = run(*mixture, first, count);
  if (!test::near(own.outputs, whole.outputs.narrow(0, first, count))) {
    return "other outputs";
  }
  if (!test::near(own.input_gradient, whole.input_gradient.narrow(0, first, count))) {
    return "another gradient of the tokens";
  }
  for (const auto& [module, owner] : owners) {
    for (const std::string parameter : {"up.weight", "up.bias", "down.weight", "down.bias"}) {
      const auto name = module + "." + parameter;
      if (own.gradients.contains(name) != (owner == rank && whole.gradients.contains(name))) {
        return "a gradient on another rank of " + name;
      }
      if (owner == rank && whole.gradients.contains(name) &&
          !test::near(own.gradients.at(name), whole.gradients.at(name))) {
        return "another gradient of " + name;
      }
    }
  }
  return "";
}

class ExpertParallelism : public ::testing::TestWithParam<int> {};

TEST_P(ExpertParallelism, ComputesWhatOneProcessComputes) {
  for (const std::string keys :
       {"experts: 8", "experts: 5, top: 1, normalize: false", "experts: 2", "experts: 1, top: 1",
        "experts: 6, top: 3, capacity: 0.5", "experts: 4, balance_loss: 0, jitter: 0.1"}) {
    const auto results = test::run_in_group(
        GetParam(), [&](ProcessGroup& group) { return difference(group, keys); });
    EXPECT_EQ(results, std::vector<std::string>(static_cast<std::size_t>(GetParam()))) << keys;
  }
}

INSTANTIATE_TEST_SUITE_P(OnRanks, ExpertParallelism, ::testing::Values(2, 3, 4));

TEST(ExpertParallelism, DividesExpertsEvenly) {
  const auto ranks_of = [](int64_t experts, int ranks) {
    std::vector<int> owners;
    const auto all = expert_owners(*mixture_of(str_cat("experts: ", experts, ", top: 1")), ranks);
    for (int64_t e = 0; e < experts; ++e) {
      owners.push_back(all.at(str_cat("expert_", e)));
    }
    return owners;
  };
  EXPECT_EQ(ranks_of(8, 2), (std::vector{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(ranks_of(5, 3), (std::vector{0, 1, 1, 2, 2}));
  EXPECT_EQ(ranks_of(2, 4), (std::vector{1, 3}));
}

// The experts of a teacher are on all ranks.
TEST(ExpertParallelism, LeavesOtherModelsAlone) {
  const auto results = test::run_in_group(2, [](ProcessGroup& group) -> std::string {
    const auto model = mixture_of("experts: 4");
    const auto teacher = mixture_of("experts: 4");
    const auto expected = run(*teacher, 0, kTokens).outputs;
    const ExpertParallel expert_parallel(*model, group);
    // Only one rank runs it.
    return group.rank() == 1 || run(*teacher, 0, kTokens).outputs.equal(expected) ? "" : "differs";
  });
  EXPECT_EQ(results, std::vector<std::string>(2));
}

TEST(ProcessGroup, ExchangesRowsOfAnyNumber) {
  const auto results = test::run_in_group(3, [](ProcessGroup& group) -> std::string {
    const int rank = group.rank();
    // Rank r sends r * 10 + to to each rank, as often as `to`; nothing to rank 0.
    const auto sent = at::tensor({rank * 10 + 1, rank * 10 + 2, rank * 10 + 2}, at::kLong);
    const auto received = group.all_to_all(sent, {0, 1, 2}, {rank, rank, rank});
    std::vector<int64_t> wanted;
    for (int from = 0; from < 3; ++from) {
      wanted.insert(wanted.end(), static_cast<std::size_t>(rank), from * 10 + rank);
    }
    const auto nothing = group.all_to_all(at::empty({0}), {0, 0, 0}, {0, 0, 0});
    return received.equal(at::tensor(wanted, at::kLong)) && nothing.numel() == 0 ? "" : "differs";
  });
  EXPECT_EQ(results, std::vector<std::string>(3));
}

}  // namespace
}  // namespace weft::train
