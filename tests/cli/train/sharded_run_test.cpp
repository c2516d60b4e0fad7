#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "cli/train/launched_runs.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

class ShardedRun : public ::testing::TestWithParam<std::string> {};

// Two and three ranks: with two, parts divide evenly. Clipping needs the norm over all ranks.
TEST_P(ShardedRun, HasTheBitsOfAnUnshardedOne) {
  const test::TemporaryDirectory work;
  const std::vector<std::vector<std::string>> variants = {
      {"train.clip_norm=0.1", "train.gradient_checkpointing=layers", "train.ema.decay=0.9",
       "model.sharing={layers: 1, sublayers: [feed_forward]}"},
      {"train.optimizer.scale_parameter=true", "train.freeze=[embeddings, layers.0]",
       "train.ranks.overlap=always"}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(variants[i].front());
    const auto config = write_config(work, i == 0 ? "bf16" : "fp32");
    auto settings = variants[i];
    settings.emplace_back("train.duration=10 steps");
    const int ranks = i == 0 ? 2 : 3;
    const auto plain = work / ("plain-" + std::to_string(i));
    train(plain, config, ranks, settings);
    settings.push_back("train.ranks.shard=" + GetParam());
    const auto sharded = work / ("sharded-" + std::to_string(i));
    train(sharded, config, ranks, settings);
    expect_same_run(sharded, plain);
  }
}

// Each launcher is a machine.
TEST_P(ShardedRun, HasTheSameBitsIfMachinesDivideACopyEach) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "bf16");
  const std::vector<std::string> settings = {"train.duration=10 steps", "train.clip_norm=0.1",
                                             "train.ema.decay=0.9", "train.ranks.overlap=always",
                                             "train.ranks.shard=" + GetParam()};
  train(work / "plain", config, 4, settings);
  std::vector<std::string> options = {"--master-addr",
                                      "127.0.0.1",
                                      "--master-port",
                                      std::to_string(test::free_port()),
                                      "--",
                                      "train",
                                      config,
                                      "--output",
                                      work / "machines"};
  for (const auto& setting : settings) {
    options.insert(options.end(), {"--set", setting});
  }
  options.insert(options.end(), {"--set", "train.ranks.shard_group=machine", "--set",
                                 "data.cache_dir=" + (work / "cache-of-machines")});
  const test::TemporaryDirectory streams[2];
  std::vector<pid_t> machines;
  for (const int machine : {0, 1}) {
    std::vector<std::string> command = {
        WEFT_BINARY, "launch", "--ranks",     "2",
        "--nodes",   "2",      "--node-rank", std::to_string(machine)};
    command.insert(command.end(), options.begin(), options.end());
    machines.push_back(test::start(command, streams[machine].path()));
  }
  for (const int machine : {0, 1}) {
    const auto done = test::finish(machines[machine], streams[machine].path());
    EXPECT_EQ(done.status, 0) << done.err;
  }
  expect_same_run(work / "machines", work / "plain");
  for (const auto& file : fs::directory_iterator(work / "cache-of-machines")) {
    EXPECT_EQ(file.path().extension(), ".tokens") << "a part of the text that was not used";
  }
}

TEST_P(ShardedRun, TrainsAdaptersOfAFrozenModel) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  train(work / "base", config, 1, {"train.duration=2 steps"});
  auto text = test::contents(config);
  text = "init_from: " + (work / "base") + "/last\n" + text.substr(text.find("data:"));
  test::write(work / "adapters.yaml", text);
  const std::vector<std::string> settings = {"train.duration=10 steps", "train.lora={rank: 2}"};
  train(work / "plain", work / "adapters.yaml", 2, settings);
  auto sharding = settings;
  sharding.push_back("train.ranks.shard=" + GetParam());
  train(work / "sharded", work / "adapters.yaml", 2, sharding);
  expect_same_run(work / "sharded", work / "plain");
  EXPECT_TRUE(test::contents(work / "sharded/last/adapter/adapter_model.safetensors") ==
              test::contents(work / "plain/last/adapter/adapter_model.safetensors"));
}

// With more micro-batches than ranks, gradients are added in another order.
TEST_P(ShardedRun, SumsMicroBatches) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "bf16");
  const std::vector<std::string> settings = {"train.duration=10 steps",
                                             "train.micro_batch_tokens=300"};
  train(work / "plain", config, 2, settings);
  auto sharding = settings;
  sharding.push_back("train.ranks.shard=" + GetParam());
  train(work / "sharded", config, 2, sharding);
  expect_near(metric(work / "sharded", "train/loss"), metric(work / "plain", "train/loss"), 1e-4);
  EXPECT_EQ(metric(work / "sharded", "train/tokens"), metric(work / "plain", "train/tokens"));
}

// Unknown tokens are not masked, so the first steps have no targets. The evaluation has one batch.
TEST_P(ShardedRun, ComputesStepsWithoutTargetsAndEvaluationsOfFewBatches) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  std::string unknown;
  for (int line = 0; line < 50; ++line) {
    unknown += "\u2603\n";
  }
  const auto text = test::contents(WEFT_SOURCE_DIR "/data/held_out.txt");
  test::write(work / "train.txt", unknown + text);
  test::write(work / "evaluate.txt", text.substr(0, 200));
  const std::vector<std::string> masked = {"objective.mask_fraction=0.3"};
  const std::vector<std::string> replaced = {
      "model={preset: electra-small, dim: 32, layers: 2, embedding_size: 16, feed_forward: {width: "
      "64}, attention: {heads: 2}, position: {length: 64}}",
      "objective={type: replaced_token, mask_fraction: 0.3}"};
  for (const auto& objective : {masked, replaced}) {
    auto settings = objective;
    settings.insert(settings.end(),
                    {"data.train=[{path: " + (work / "train.txt") + "}]",
                     "data.evaluate=[{path: " + (work / "evaluate.txt") + "}]", "data.pack=none",
                     "tokenizer.train_on=" + (work / "evaluate.txt"), "tokenizer.vocab_size=200",
                     "data.shuffle=false", "train.batch_tokens=60"});
    train(work / "plain", config, 3, settings);
    settings.push_back("train.ranks.shard=" + GetParam());
    train(work / "sharded", config, 3, settings);
    expect_same_run(work / "sharded", work / "plain");
    fs::remove_all(work / "plain");
    fs::remove_all(work / "sharded");
  }
}

TEST_P(ShardedRun, ResumesOnAnyNumberOfRanks) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto shard = "train.ranks.shard=" + GetParam();
  const std::string constant = "train.schedule={type: constant}";
  train(work / "whole", config, 4, {constant});
  train(work / "half", config, 4, {shard, constant, "train.duration=10 steps"});
  for (const int ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(ranks);
    const auto run = work / ("resumed-" + std::to_string(ranks));
    fs::copy(work / "half", run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    train(run, config, ranks,
          ranks % 2 == 1 ? std::vector{shard, constant} : std::vector{constant});
    if (ranks == 4) {
      expect_same_run(run, work / "whole");
    } else {
      expect_near(metric(run, "train/loss"), metric(work / "whole", "train/loss"), 2e-5);
    }
  }
}

TEST_P(ShardedRun, RestartsAfterAKilledRankAndEndsTheSame) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto undisturbed = trained(work, config, 3);
  const test::TemporaryDirectory streams;
  const auto run = work / "killed";
  const auto launcher =
      test::start({WEFT_BINARY, "launch", "--ranks", "3", "--restarts", "1", "--", "train", config,
                   "--output", run, "--set", "train.ranks.shard=" + GetParam()},
                  streams.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(run + "/checkpoint-5"); }));
  const auto ranks = ranks_of(run);
  ASSERT_EQ(ranks.size(), 3U);
  ::kill(ranks[1], SIGKILL);
  const auto done = test::finish(launcher, streams.path());
  EXPECT_EQ(done.status, 0) << done.err;
  expect_same_run(run, undisturbed);
  EXPECT_TRUE(ranks_of(run).empty());
}

INSTANTIATE_TEST_SUITE_P(Of,
                         ShardedRun,
                         ::testing::Values("optimizer", "gradients", "all"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace weft::cli
