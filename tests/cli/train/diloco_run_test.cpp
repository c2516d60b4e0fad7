#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "cli/train/launched_runs.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kDiloco = {"train.ranks.diloco.every=5 steps",
                                          "train.save_every=2 steps",
                                          "train.evaluate_every=3 steps", "run.keep.last=20"};

TEST(DilocoRun, SavesAndEvaluatesWhenRanksHaveTheSameWeights) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "bf16");
  train(work / "run", config, 2, kDiloco);
  for (int step = 1; step <= 20; ++step) {
    EXPECT_EQ(fs::exists(work / str_cat("run/checkpoint-", step)), step % 5 == 0) << step;
  }
  const auto evaluated = metric(work / "run", "eval/loss");
  ASSERT_EQ(evaluated.size(), 4U);
  EXPECT_LT(evaluated.at(20), evaluated.at(5));
  // A rank with a half of the batch learns much as one with all of it.
  const auto synchronous = trained(work, config, 2);
  EXPECT_NEAR(evaluated.at(20), metric(synchronous, "eval/loss").at(20), 0.3);
  EXPECT_NE(weights(work / "run"), weights(synchronous));
  // Losses are global: at the first step, before any exchange, both runs have the same weights.
  EXPECT_NEAR(metric(work / "run", "train/loss").at(1), metric(synchronous, "train/loss").at(1),
              1e-3);
}

TEST(DilocoRun, EndsTheSameAfterAKillAndAfterAStop) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  train(work / "undisturbed", config, 2, kDiloco);
  for (const bool is_killed : {true, false}) {
    SCOPED_TRACE(is_killed);
    const test::TemporaryDirectory streams;
    const auto run = work / (is_killed ? "killed" : "stopped");
    std::vector<std::string> command = {WEFT_BINARY,  "launch",   "--ranks", "2",
                                        "--restarts", "1",        "--",      "train",
                                        config,       "--output", run};
    for (const auto& setting : kDiloco) {
      command.insert(command.end(), {"--set", setting});
    }
    const auto launcher = test::start(command, streams.path());
    ASSERT_TRUE(wait_until([&] { return fs::exists(run + "/checkpoint-5"); }));
    const auto ranks = ranks_of(run);
    ASSERT_EQ(ranks.size(), 2U);
    ::kill(ranks[1], is_killed ? SIGKILL : SIGTERM);
    const auto done = test::finish(launcher, streams.path());
    EXPECT_EQ(done.status, is_killed ? 0 : 143) << done.err;
    if (!is_killed) {
      const auto stopped_at = fs::read_symlink(run + "/last").string();
      EXPECT_TRUE(stopped_at.ends_with("0") || stopped_at.ends_with("5")) << stopped_at;
      train(run, config, 2, kDiloco);
    }
    expect_same_run(run, work / "undisturbed");
  }
}

TEST(DilocoRun, ResumesOnAnyNumberOfRanks) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  auto half = kDiloco;
  half.emplace_back("train.duration=10 steps");
  train(work / "half", config, 2, half);
  for (const int ranks : {1, 3}) {
    SCOPED_TRACE(ranks);
    const auto run = work / ("resumed-" + std::to_string(ranks));
    fs::copy(work / "half", run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    train(run, config, ranks, kDiloco);
    EXPECT_LT(metric(run, "eval/loss").at(20), metric(run, "eval/loss").at(10));
  }
}

TEST(DilocoRun, BeginsWithSynchronousSteps) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  auto settings = kDiloco;
  settings.emplace_back("train.ranks.diloco.start_step=7");
  train(work / "run", config, 2, settings);
  const auto synchronous = trained(work, config, 2);
  for (int step = 1; step <= 20; ++step) {
    const bool is_saved = step < 7 ? step % 2 == 0 || step % 3 == 0  // saved, or the best
                                   : step == 12 || step == 17 || step == 20;
    EXPECT_EQ(fs::exists(work / str_cat("run/checkpoint-", step)), is_saved) << step;
    const bool is_same =
        metric(work / "run", "train/loss").at(step) == metric(synchronous, "train/loss").at(step);
    EXPECT_EQ(is_same, step <= 7) << step;
  }
  for (const int kept : {6, 12}) {  // of the synchronous steps, and after a round
    SCOPED_TRACE(kept);
    const auto resumed = work / str_cat("resumed-", kept);
    fs::copy(work / "run", resumed, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    for (const int step : {12, 17, 20}) {
      if (step > kept) {
        fs::remove_all(str_cat(resumed, "/checkpoint-", step));
      }
    }
    train(resumed, config, 2, settings);
    expect_same_run(resumed, work / "run");
  }
}

TEST(DilocoRun, RefusesWhatItCannotBeCombinedWith) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  for (const auto& [setting, key] : std::map<std::string, std::string>{
           {"train.ranks.shard=all", "train.ranks.shard"},
           {"train.ema.decay=0.9", "train.ema"},
           {"train.ranks.diloco.every=2 epochs", "train.ranks.diloco.every"},
           {"train.ranks.diloco.start_step=20", "train.ranks.diloco.start_step"},
           {"train.ranks.diloco={momentum: 0.5}", "train.ranks.diloco.momentum"}}) {
    const auto done = test::weft(
        {"config", "check", config, "--set", "train.ranks.diloco.every=5 steps", "--set", setting});
    EXPECT_EQ(done.status, 2) << setting;
    EXPECT_NE(done.err.find(key + ": "), std::string::npos) << done.err;
  }
}

}  // namespace
}  // namespace weft::cli
