#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "base/file.h"
#include "base/string_util.h"
#include "support/tensors.h"
#include "train/distributed/forked_ranks.h"
#include "train/distributed/gradient_exchange.h"
#include "train/distributed/shard_collector.h"
#include "train/distributed/weight_exchange.h"

namespace weft::train {
namespace {

using Texts = std::vector<std::string>;

constexpr int64_t kRows = 50;

/// Three layers and a table outside them. Ranks use them differently, as a mixture of experts does.
class OddModule : public torch::nn::Module {
 public:
  OddModule() {
    table_ =
        register_parameter("table", at::arange(kRows * 40, at::kFloat).view({kRows, 40}).sin());
    auto layers = std::make_shared<torch::nn::Module>();
    for (int i = 0; i < 3; ++i) {
      auto layer = std::make_shared<torch::nn::Module>();
      weights_.push_back(layer->register_parameter(
          "weight", at::arange(1600, at::kFloat).view({40, 40}).cos() * i));
      biases_.push_back(layer->register_parameter("bias", at::full({40}, 0.5)));
      layers->register_module(std::to_string(i), layer);
    }
    register_module("layers", layers);
  }

  /// Rank 1 uses no layer 1, no rank uses layer 2's bias, all use layer 0 twice.
  at::Tensor loss(int rank) const { return loss(rank, rank != 1); }

  at::Tensor loss(int rank, bool uses_layer_1) const {
    auto x = table_.narrow(0, rank, 4).matmul(weights_[0]) + biases_[0];
    if (uses_layer_1) {
      x = (x.matmul(weights_[1]) + biases_[1]).tanh();
    }
    return x.matmul(weights_[0]).matmul(weights_[2]).matmul(table_.t()).square().mean();
  }

 private:
  at::Tensor table_;
  std::vector<at::Tensor> weights_, biases_;
};

FlatParameters flat_of(OddModule& module, Sharding sharding, ProcessGroup& group) {
  return {module,
          at::kFloat,
          [](const std::string& /*name*/, const at::Tensor& parameter) {
            return ParameterSettings{.decays = parameter.dim() >= 2};
          },
          {.sharding = sharding,
           .rank = group.shard_group().rank(),
           .ranks = group.shard_group().size()}};
}

/// Gradients of all ranks, added in pairs: (trained_size).
at::Tensor expected_sum(int ranks) {
  std::vector<at::Tensor> sums;
  for (int rank = 0; rank < ranks; ++rank) {
    OddModule module;
    const FlatParameters flat(module, at::kFloat, DecayOn::kMatrices);
    module.loss(rank).backward();
    sums.push_back(flat.gradient().clone());
  }
  while (sums.size() > 1) {
    std::vector<at::Tensor> pairs;
    for (std::size_t i = 0; i < sums.size(); i += 2) {
      pairs.push_back(i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i]);
    }
    sums = pairs;
  }
  return sums.front();
}

/// Exchanges the gradients; whether they are those expected.
std::string exchanged(ProcessGroup& group, Sharding sharding, bool sends_early) {
  OddModule module;
  auto flat = flat_of(module, sharding, group);
  GradientExchange exchange(flat, group);
  exchange.begin(flat.gradient());
  WeightExchange weights(flat, group);
  for (const auto& unit : flat.layout().units()) {
    weights.fetch(unit);
    exchange.allocate(unit);
  }
  module.loss(group.rank()).backward();
  if (sends_early && group.rank() != 1) {  // one rank sends all at the end
    for (const auto& unit : flat.layout().units()) {
      exchange.unit_is_complete(unit);
    }
  }
  const auto sums = exchange.finish();
  const auto wanted = expected_sum(group.size());
  for (const auto& entry : flat.entries()) {
    for (const auto& part : flat.owned_parts(entry)) {
      if (!sums.narrow(0, part.begin, part.range.count)
               .equal(wanted.narrow(0, entry.begin + part.range.begin, part.range.count))) {
        return str_cat("wrong gradient of ", entry.name);
      }
    }
    if (flat.gradient().defined() == (sharding >= Sharding::kGradients)) {
      return "gradients have memory where they should not";
    }
    if (sharding >= Sharding::kGradients && entry.parameter.grad().defined()) {
      return str_cat("the gradient of ", entry.name, " is still there");
    }
  }
  return "right";
}

constexpr const char* kOwned = "layers.1";

ParameterSettings plain_settings(const std::string& /*name*/, const at::Tensor& /*parameter*/) {
  return {};
}

/// The same where the last rank of each shard group has a layer for itself.
std::string exchanged_with_owner(ProcessGroup& group) {
  const int ranks = group.shard_group().size();
  const auto owns = [&](int rank) { return rank % ranks == ranks - 1; };
  OddModule module;
  FlatParameters flat(module, at::kFloat, plain_settings,
                      {.sharding = Sharding::kAll,
                       .rank = group.shard_group().rank(),
                       .ranks = ranks,
                       .owners = {{kOwned, ranks - 1}}});
  GradientExchange exchange(flat, group);
  exchange.begin({});
  WeightExchange weights(flat, group);
  for (const auto& unit : flat.layout().units()) {
    weights.fetch(unit);
    exchange.allocate(unit);
  }
  module.loss(group.rank(), owns(group.rank())).backward();
  const auto sums = exchange.finish();
  OddModule whole;
  const FlatParameters expected(whole, at::kFloat, DecayOn::kAll);
  for (int rank = 0; rank < group.size(); ++rank) {
    whole.loss(rank, owns(rank)).backward();
  }
  for (const auto& entry : flat.entries()) {
    const bool is_owned = entry.name.starts_with(kOwned);
    int64_t count = 0;
    for (const auto& part : flat.owned_parts(entry)) {
      const auto begin = expected.at(entry.name).begin + part.range.begin;
      if (!test::near(sums.narrow(0, part.begin, part.range.count),
                      expected.gradient().narrow(0, begin, part.range.count))) {
        return str_cat("wrong gradient of ", entry.name);
      }
      count += part.range.count;
    }
    if (is_owned && count != (owns(group.rank()) ? entry.count : 0)) {
      return str_cat("the wrong rank has ", entry.name);
    }
  }
  for (std::size_t i = 0; i < flat.layout().ranges().size(); ++i) {
    const auto& range = flat.layout().ranges()[i];
    if ((flat.weights(i).storage().nbytes() == 0) != (range.owner && !owns(group.rank()))) {
      return "wrong memory of the weights";
    }
  }
  return "right";
}

TEST(OwnedLayers, StayOnTheirRank) {
  for (const int ranks : {2, 3, 4}) {
    EXPECT_EQ(test::run_in_group(ranks, exchanged_with_owner),
              Texts(static_cast<std::size_t>(ranks), "right"));
  }
  EXPECT_EQ(test::run_on_machines(2, 2, exchanged_with_owner), Texts(4, "right"));
  EXPECT_EQ(test::run_on_machines(3, 2, exchanged_with_owner), Texts(6, "right"));
}

/// Machines, ranks on each of them.
using Ranks = std::pair<int, int>;

class ShardedExchange : public ::testing::TestWithParam<std::tuple<Ranks, Sharding>> {
 protected:
  static Sharding sharding() { return std::get<1>(GetParam()); }
  static std::size_t ranks() {
    const auto [machines, ranks_per_machine] = std::get<0>(GetParam());
    return static_cast<std::size_t>(machines * ranks_per_machine);
  }
  /// On one machine all ranks are a group, without a division.
  static Texts run(const std::function<std::string(ProcessGroup&)>& work) {
    const auto [machines, ranks_per_machine] = std::get<0>(GetParam());
    const auto together = [&](ProcessGroup& group) {
      auto result = work(group);
      group.barrier("the result");  // a rank that ends early closes connections that others make
      return result;
    };
    return machines == 1 ? test::run_in_group(ranks_per_machine, together)
                         : test::run_on_machines(machines, ranks_per_machine, together);
  }
};

TEST_P(ShardedExchange, AddsGradientsOfRanksThatUseDifferentParameters) {
  for (const bool sends_early : {false, true}) {
    const auto results =
        run([&](ProcessGroup& group) { return exchanged(group, sharding(), sends_early); });
    EXPECT_EQ(results, Texts(ranks(), "right"));
  }
}

TEST_P(ShardedExchange, CollectsWholeParametersAndReleasesTheOthersAfterAnError) {
  if (sharding() == Sharding::kNone) {
    return;  // nothing to collect
  }
  const auto results = run([&](ProcessGroup& group) -> std::string {
    OddModule module;
    const OddModule whole;
    const auto flat = flat_of(module, sharding(), group);
    const ShardCollector collector(flat, group);
    int collected = 0;
    collector.run({flat.master(), flat.master() * 2}, [&] {
      for (const auto& entry : flat.entries()) {
        const auto found = collector.collect(flat.master() * 2, 1, entry);
        collected += found.equal(whole.named_parameters()[entry.name] * 2) ? 1 : 0;
      }
    });
    std::string error;
    try {
      collector.run({flat.master()}, [] { throw std::runtime_error("disk full"); });
    } catch (const std::runtime_error& caught) {
      error = caught.what();
    }
    return str_cat(collected, error);
  });
  Texts wanted(ranks(), "0");
  wanted[0] = "7disk full";
  EXPECT_EQ(results, wanted);
}

/// The file after all ranks have written two flat tensors into it, one after the other, on rank 0;
/// `hides`: rank 1 sees another file.
std::string written_by_all(ProcessGroup& group, Sharding sharding, bool hides) {
  OddModule module;
  const OddModule whole;
  const auto flat = flat_of(module, sharding, group);
  const ShardCollector collector(flat, group);
  const test::TemporaryDirectory of_rank;
  const auto shared = group.gather(of_rank.path()).front();
  if (hides && group.rank() == 1) {
    std::filesystem::current_path(of_rank.path());
  } else {
    std::filesystem::current_path(shared);
  }
  test::write("file", std::string(2 * static_cast<std::size_t>(flat.size()) * sizeof(float), '-'));
  group.barrier("the file");
  const std::vector<at::Tensor> flats = {flat.master(), flat.master() * 2};
  std::string result = "served";
  collector.run(flats, [&] {
    std::vector<ShardCollector::FileTensor> tensors;
    std::string wanted;
    for (const std::size_t number : {1, 0}) {
      for (const auto& entry : flat.entries()) {
        tensors.push_back(
            {.number = number, .entry = &entry, .position = static_cast<int64_t>(wanted.size())});
        const auto value = whole.named_parameters()[entry.name] * (number == 1 ? 2 : 1);
        const auto values = value.detach().contiguous();
        wanted.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
      }
    }
    if (!collector.write("file", tensors, flats)) {
      result = "not shared";
    } else {
      result = read_file("file").starts_with(wanted) ? "written" : "wrong";
    }
  });
  group.barrier("the end");
  std::filesystem::current_path("/");
  return result;
}

TEST_P(ShardedExchange, RanksWriteWhatTheyOwnIntoOneFile) {
  if (sharding() == Sharding::kNone) {
    return;  // rank 0 has all
  }
  for (const bool hides : {false, true}) {
    const auto results =
        run([&](ProcessGroup& group) { return written_by_all(group, sharding(), hides); });
    EXPECT_EQ(results.front(), hides ? "not shared" : "written");
  }
}

TEST_P(ShardedExchange, WeightsOfALayerHaveMemoryWhileTheyAreUsed) {
  const auto results = run([&](ProcessGroup& group) -> std::string {
    OddModule module;
    const OddModule whole;
    auto flat = flat_of(module, sharding(), group);
    WeightExchange exchange(flat, group);
    const auto bytes = [&](std::size_t unit) {
      return flat.weights(flat.layout().units()[unit].ranges.front()).storage().nbytes();
    };
    const auto& units = flat.layout().units();
    if (units.size() != 4) {
      return "wrong units";
    }
    const bool is_on_demand = sharding() == Sharding::kAll;
    if ((bytes(1) == 0) != is_on_demand || bytes(0) == 0) {
      return "wrong memory before use";
    }
    exchange.fetch(units[1]);
    exchange.prefetch_next(units[1]);
    exchange.release(units[1]);
    exchange.fetch(units[3]);  // not the one expected
    if (is_on_demand && (bytes(1) != 0 || bytes(2) != 0)) {
      return "wrong memory after a prefetch that was not used";
    }
    exchange.prefetch_previous(units[3]);
    exchange.fetch(units[2]);
    if (is_on_demand && (bytes(1) != 0 || bytes(2) == 0 || bytes(3) == 0)) {
      return "wrong memory in use";
    }
    for (const auto* const parameter :
         {"layers.1.weight", "layers.1.bias", "layers.2.weight", "table"}) {
      if (!module.named_parameters()[parameter].equal(whole.named_parameters()[parameter])) {
        return str_cat("wrong ", parameter);
      }
    }
    exchange.release_all();
    flat.master().mul_(2);
    exchange.publish();
    for (const auto& unit : units) {
      exchange.fetch(unit);
    }
    for (const auto& item : module.named_parameters()) {
      if (!item.value().equal(whole.named_parameters()[item.key()] * 2)) {
        return str_cat("wrong ", item.key(), " after the update");
      }
    }
    exchange.release_all();
    return bytes(1) == 0 && bytes(2) == 0 && bytes(3) == 0 ? "released" : "kept";
  });
  EXPECT_EQ(results, Texts(ranks(), sharding() == Sharding::kAll ? "released" : "kept"));
}

INSTANTIATE_TEST_SUITE_P(
    Of,
    ShardedExchange,
    ::testing::Combine(
        ::testing::Values(Ranks(1, 2), Ranks(1, 3), Ranks(1, 4), Ranks(2, 2), Ranks(3, 2)),
        ::testing::Values(
            Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients, Sharding::kAll)));

INSTANTIATE_TEST_SUITE_P(WithOneRankOnEachMachine,
                         ShardedExchange,
                         ::testing::Values(std::tuple(Ranks(3, 1), Sharding::kNone)));

}  // namespace
}  // namespace weft::train
