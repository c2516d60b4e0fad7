#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "base/log.h"
#include "train/distributed/forked_ranks.h"
#include "train/distributed/replica_check.h"
#include "train/run/run_directory.h"
#include "train/small_run.h"
#include "train/step/trainer.h"

namespace weft::train {
namespace {

using Texts = std::vector<std::string>;

/// Flips the lowest bit of the first element.
void flip_bit(const at::Tensor& weights) { *static_cast<uint8_t*>(weights.data_ptr()) ^= 1; }

class OneWeight : public torch::nn::Module {
 public:
  OneWeight() : weight(register_parameter("weight", at::arange(100, at::kFloat))) {}
  at::Tensor weight;
};

FlatParameters flat_of(OneWeight& module, Sharding sharding, ProcessGroup& group) {
  return {
      module,
      at::kFloat,
      [](const std::string& /*name*/, const at::Tensor& /*weight*/) { return ParameterSettings(); },
      {.sharding = sharding,
       .rank = group.shard_group().rank(),
       .ranks = group.shard_group().size()}};
}

std::string error_of_check(const FlatParameters& flat, ProcessGroup& group) {
  try {
    check_replicas(flat, group);
  } catch (const DistributedError& error) {
    return error.what();
  }
  return "equal";
}

std::string error_with_flipped_bit(ProcessGroup& group, int faulty, Sharding sharding) {
  OneWeight module;
  const auto flat = flat_of(module, sharding, group);
  if (group.rank() == faulty) {
    flip_bit(module.weight);
  }
  return error_of_check(flat, group);
}

std::string message_of_rank(int rank) {
  return "the weights of rank " + std::to_string(rank) +
         " are not those of the other ranks: its memory may be faulty. Nothing was saved since the "
         "last checkpoint, from which the same command resumes";
}

TEST(ReplicaCheck, NamesTheRankWhoseWeightsDiffer) {
  for (const auto sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kAll}) {
    const auto results = test::run_in_group(
        3, [&](ProcessGroup& group) { return error_with_flipped_bit(group, 1, sharding); });
    EXPECT_EQ(results, Texts(3, message_of_rank(1)));
  }
}

TEST(ReplicaCheck, ComparesThePartsOfSeveralCopies) {
  const auto results = test::run_on_machines(3, 2, [&](ProcessGroup& group) -> std::string {
    OneWeight module;
    const auto flat = flat_of(module, Sharding::kAll, group);
    if (group.rank() == 2) {
      flip_bit(flat.master());  // of its part; all weights are still those of the other ranks
    }
    return error_of_check(flat, group);
  });
  EXPECT_EQ(results, Texts(6, message_of_rank(2)));
}

TEST(ReplicaCheck, OfTwoRanksNoneIsInTheMinority) {
  const auto results = test::run_in_group(
      2, [](ProcessGroup& group) { return error_with_flipped_bit(group, 1, Sharding::kNone); });
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].find("the weights of the ranks are not the same"), 0U) << results[0];
  EXPECT_EQ(results[0], results[1]);
}

TEST(ReplicaCheck, EqualWeightsPass) {
  for (const int ranks : {1, 3}) {
    const auto results = test::run_in_group(ranks, [](ProcessGroup& group) {
      return error_with_flipped_bit(group, -1, Sharding::kNone);
    });
    EXPECT_EQ(results, Texts(static_cast<std::size_t>(ranks), "equal"));
  }
}

/// Trains 8 steps on 3 ranks; flips a bit of rank 2 in step 4. Returns the errors.
Texts errors_of_training(const test::SmallRun& small, const std::vector<std::string>& settings) {
  log::set_level(log::Level::kError);
  return test::run_in_group(3, [&](ProcessGroup& group) -> std::string {
    const auto config = small.config("mlm", "run", settings);
    const RunDirectory directory(config.run.directory,
                                 group.is_main() ? RunAccess::kWrite : RunAccess::kRead);
    auto components = group.main_first("preparation",
                                       [&] { return prepare_run(config, std::nullopt, at::kCPU); });
    Trainer trainer(config, directory, components, {.group = &group}, std::nullopt);
    try {
      trainer.run([&](const TrainState& state) {
        if (state.progress.steps == 4 && group.rank() == 2) {
          flip_bit(components.model->parameters().front());
        }
      });
    } catch (const DistributedError& error) {
      return std::to_string(trainer.state().progress.steps) + " " + error.what();
    }
    return "finished";
  });
}

TEST(ReplicaCheck, EndsTrainingAtTheNextCheck) {
  const test::SmallRun small;
  for (const auto& error : errors_of_training(small, {"train.ranks.check_every=3 steps"})) {
    EXPECT_EQ(error.find("6 the weights of rank 2 are not those"), 0U) << error;
  }
}

TEST(ReplicaCheck, EndsTrainingBeforeASave) {
  const test::SmallRun small;
  for (const auto& error :
       errors_of_training(small, {"train.ranks.check_every=never", "train.save_every=5 steps"})) {
    EXPECT_EQ(error.find("5 the weights of rank 2 are not those"), 0U) << error;
  }
  EXPECT_FALSE(std::filesystem::exists(small.path("run") + "/checkpoint-5"));
}

}  // namespace
}  // namespace weft::train
