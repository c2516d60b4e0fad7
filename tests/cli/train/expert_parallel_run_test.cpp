#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/train/launched_runs.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExperts = "model.feed_forward={type: mixture_of_experts, experts: 6}";
const std::vector<std::string> kExpertParallel = {"train.ranks.shard=all",
                                                  "train.ranks.expert_parallel=true"};

std::vector<std::string> joined(std::vector<std::string> settings,
                                const std::vector<std::string>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

// With what needs all ranks, and layers that some ranks run without tokens.
TEST(ExpertParallelRun, HasTheLossesOfOneProcess) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const std::vector<std::vector<std::string>> variants = {
      {"train.clip_norm=0.1", "train.ema.decay=0.9"},
      {"train.gradient_checkpointing=layers", "model.feed_forward.activation=gelu",
       "train.micro_batch_tokens=300"},
      {"model.drop_path_rate=0.9", "model.drop_path_schedule=constant", "train.batch_tokens=128"},
      {"train.ranks.overlap=always", "model.feed_forward.balance_loss=0",
       "model.feed_forward.z_loss=0.1", "model.sharing={layers: 1, sublayers: [feed_forward]}"}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(variants[i].front());
    const auto settings = joined({kExperts, "train.duration=10 steps"}, variants[i]);
    const auto one = work / ("one-" + std::to_string(i));
    const auto run = one + "-divided";
    train(one, config, 1, settings);
    train(run, config, i % 2 == 0 ? 3 : 2, joined(settings, kExpertParallel));
    for (const auto* const name : {"train/loss", "eval/loss"}) {
      expect_near(metric(run, name), metric(one, name), 2e-5);
    }
    const auto balance = metric(one, "train/load_balancing");
    if (!balance.empty()) {
      expect_near(metric(run, "train/load_balancing"), balance, 2e-5);
    }
  }
}

TEST(ExpertParallelRun, ResumesOnAnyNumberOfRanks) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "bf16");
  const std::vector<std::string> plain = {kExperts, "train.schedule={type: constant}",
                                          "train.evaluate_every=5 steps",
                                          "train.duration=10 steps"};
  const auto divided = joined(plain, kExpertParallel);
  train(work / "whole", config, 3, divided);
  train(work / "half", config, 3, joined(divided, {"train.duration=5 steps"}));
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    const auto run = work / ("resumed-" + std::to_string(ranks));
    fs::copy(work / "half", run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    train(run, config, ranks, ranks == 2 ? plain : divided);
    if (ranks == 3) {
      expect_same_run(run, work / "whole");
    } else {
      expect_near(metric(run, "train/loss"), metric(work / "whole", "train/loss"), 2e-3);
    }
  }
}

}  // namespace
}  // namespace weft::cli
