// Checkpoints that are written while training continues.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "train/checkpoint/checkpoint.h"
#include "train/forked_runs.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

using test::ChildTraining;
using test::kDone;
using test::kKilled;
using test::kStopped;
using test::stride;

const std::vector<std::string> kAsync = {"train.save_async=true", "train.save_every=1 steps",
                                         "train.evaluate_every=2 steps"};
const std::vector<std::string> kSync = {"train.save_async=false", "train.save_every=1 steps",
                                        "train.evaluate_every=2 steps"};

class AsyncCheckpointerForkTest : public test::ForkedRuns {
 protected:
  /// Every file of the checkpoint, except those with times or the config.
  void expect_same_files(const std::string& expected, const std::string& found) const {
    int files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(small_.path(expected))) {
      const auto name = fs::relative(entry.path(), small_.path(expected)).string();
      const bool is_other = name == "weft.yaml" || name.starts_with("training/state") ||
                            name.starts_with("training/manifest");
      if (entry.is_regular_file() && !is_other) {
        ++files;
        EXPECT_TRUE(small_.file(expected + "/" + name) == small_.file(found + "/" + name)) << name;
      }
    }
    EXPECT_GE(files, 4);
  }
};

TEST_F(AsyncCheckpointerForkTest, BackgroundWritesTheSameBytes) {
  for (const std::string more :
       {"train.precision=fp32", "train.precision=bf16", "train.ema={decay: 0.9}"}) {
    auto sync = kSync;
    sync.push_back(more);
    auto async = kAsync;
    async.push_back(more);
    ASSERT_EQ(train(config("straight", sync)), kDone) << stderr_text();
    ASSERT_EQ(train(config("run", async)), kDone) << stderr_text();
    for (int step = 1; step <= 4; ++step) {
      const auto name = "/" + checkpoint_name(step);
      expect_same_files("straight" + name, "run" + name);
      EXPECT_NO_THROW(verify_manifest(small_.path("run") + name));
    }
    EXPECT_EQ(small_.metrics("straight"), small_.metrics("run"));
    EXPECT_EQ(fs::read_symlink(small_.path("run/best")),
              fs::read_symlink(small_.path("straight/best")));
    fs::remove_all(small_.path("run"));
    fs::remove_all(small_.path("straight"));
  }
}

/// Waits until the save in the background has made its first call.
void await_save(const TrainState& state) {
  const auto directory = "/" + checkpoint_name(state.progress.steps) + ".tmp";
  const auto is_begun = [&](const std::string& call) {
    return call.starts_with("mkdir ") && call.ends_with(directory);
  };
  for (int i = 0; i < 2000; ++i) {
    const auto calls = fault::recorded();
    if (std::any_of(calls.begin(), calls.end(), is_begun)) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Whether the call creates the directory of a save, or (`rename`) renames it.
bool is_of_save(const std::string& call, const std::string& kind) {
  std::istringstream words(call);
  std::string name;
  std::string path;
  words >> name >> path;
  const auto file = fs::path(path).filename().string();
  return name == kind && file.starts_with("checkpoint-") && file.ends_with(".tmp");
}

// The run does not wait for a slow disk, but never has two saves under way, and its end waits.
TEST_F(AsyncCheckpointerForkTest, RunContinuesWhileASlowDiskIsWritten) {
  const std::vector<std::string> two = {"train.save_async=true", "train.save_every=2 steps",
                                        "train.duration=6 steps"};
  const auto order = small_.path("order");
  const ChildTraining slow{.plan = "flush@checkpoint-:1+:slow",
                           .prepare = [] { fault::record(true); },
                           .end =
                               [&order] {
                                 std::ofstream file(order);
                                 for (const auto& call : fault::recorded()) {
                                   file << call << "\n";
                                 }
                               },
                           .request = {.on_step = [](const TrainState& state) {
                             if (state.progress.steps == 2 || state.progress.steps == 4) {
                               await_save(state);
                             }
                           }}};
  ASSERT_EQ(train(config("run", two), slow), kDone) << stderr_text();
  int under_way = 0;
  int lines_meanwhile = 0;
  std::ifstream file(order);
  for (std::string call; std::getline(file, call);) {
    if (is_of_save(call, "mkdir")) {
      EXPECT_EQ(++under_way, 1) << "two saves at once";
    } else if (is_of_save(call, "rename")) {
      --under_way;
    } else if (call.starts_with("write") && call.ends_with("metrics.jsonl")) {
      lines_meanwhile += under_way;
    }
  }
  EXPECT_EQ(under_way, 0) << "the end did not wait";
  EXPECT_GE(lines_meanwhile, 2) << "the run waited for its saves";
  EXPECT_EQ(checkpoint_steps(small_.path("run")), (std::vector<int64_t>{2, 4, 6}));
}

TEST_F(AsyncCheckpointerForkTest, FailedSaveIsLoggedAndTheRunContinues) {
  ASSERT_EQ(train(config("straight", kSync)), kDone) << stderr_text();
  int failed = 0;
  for (std::size_t call = 1; !HasFailure(); call += stride(7)) {
    const auto plan = "any@checkpoint-1:" + std::to_string(call) + ":EIO";
    SCOPED_TRACE(plan);
    fs::remove_all(small_.path("run"));
    ASSERT_EQ(train(config("run", kAsync), plan), kDone) << stderr_text();
    expect_same("straight", "run", plan);
    if (!was_struck()) {
      break;
    }
    const bool is_told = stderr_text().find("error: [checkpoint] ") != std::string::npos ||
                         stderr_text().find("warning: ") != std::string::npos;
    EXPECT_TRUE(is_told) << stderr_text();
    failed += is_told ? 1 : 0;
    for (const auto step : checkpoint_steps(small_.path("run"))) {
      EXPECT_NO_THROW(verify_manifest(small_.path("run/") + checkpoint_name(step)));
    }
  }
  EXPECT_GE(failed, 5);
}

// A failed save is not considered for the best checkpoint, with both ways of saving.
TEST_F(AsyncCheckpointerForkTest, FailedSaveOfTheBestDecidesAsItDoesInTheRunsOwnThread) {
  for (const auto* call : {"write@checkpoint-2:1+:ENOSPC", "space@/:2:ENOSPC"}) {
    ASSERT_EQ(train(config("straight", kSync), call), kDone) << stderr_text();
    ASSERT_EQ(train(config("run", kAsync), call), kDone) << stderr_text();
    EXPECT_NE(stderr_text().find("not saved, training continues"), std::string::npos)
        << stderr_text();
    EXPECT_EQ(checkpoint_steps(small_.path("run")), checkpoint_steps(small_.path("straight")));
    EXPECT_EQ(fs::read_symlink(small_.path("run/best")),
              fs::read_symlink(small_.path("straight/best")));
    fs::remove_all(small_.path("run"));
    fs::remove_all(small_.path("straight"));
  }
}

TEST_F(AsyncCheckpointerForkTest, KillInTheBackgroundWriteLosesNothingThatWasCommitted) {
  ASSERT_EQ(train(config("straight", kSync)), kDone) << stderr_text();
  int killed = 0;
  for (std::size_t call = 1; !HasFailure(); call += stride(6)) {
    const auto plan = "any@checkpoint-3:" + std::to_string(call) + ":SIGKILL";
    SCOPED_TRACE(plan);
    fs::remove_all(small_.path("run"));
    const int status = train(config("run", kAsync), plan);
    if (status == kDone) {
      break;
    }
    ASSERT_EQ(status, kKilled) << stderr_text();
    ++killed;
    EXPECT_GE(newest("run").value_or(0), 2) << "the checkpoint before is lost";
    ASSERT_EQ(train(config("run", kAsync)), kDone) << stderr_text();
    expect_same("straight", "run", plan);
  }
  EXPECT_GE(killed, 5);
}

// Before whichever call a signal arrives, the current save is completed and the run saved again.
TEST_F(AsyncCheckpointerForkTest, SignalInTheBackgroundWriteSavesAndLeaves) {
  ASSERT_EQ(train(config("straight", kSync)), kDone) << stderr_text();
  for (std::size_t call = 1; !HasFailure(); call += stride(15)) {
    const auto plan =
        "any@checkpoint-2:" + std::to_string(call) + ":SIGTERM;flush@checkpoint-2:1+:slow";
    SCOPED_TRACE(plan);
    fs::remove_all(small_.path("run"));
    const int status = train(config("run", kAsync), plan);
    ASSERT_TRUE(status == kStopped || status == kDone) << stderr_text();
    EXPECT_GE(newest("run").value_or(0), 2);
    EXPECT_FALSE(fs::exists(small_.path("run/checkpoint-2.tmp")));
    if (status == kDone) {
      break;
    }
    ASSERT_EQ(train(config("run", kAsync)), kDone) << stderr_text();
    expect_same("straight", "run", plan);
  }
}

}  // namespace
}  // namespace weft::train
