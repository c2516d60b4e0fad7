// Behaviour of a run under disk and system failures. Each training is a separate process;
// this program itself never trains.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "base/fault_injection.h"
#include "base/file.h"
#include "support/limits.h"
#include "train/checkpoint/checkpoint.h"
#include "train/forked_runs.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

using test::kDone;
using test::kKilled;
using test::kStopped;
using test::kUser;
using test::stride;

class IoFaultsTest : public test::ForkedRuns {
 protected:
  /// Runs under a plan. No checkpoint with a checkpoint's name is damaged or older than `least`,
  /// and the next process ends with the weights and the log of the undisturbed run. Returns the
  /// latest complete step of the failed run; nullopt if the plan affected no call.
  std::optional<int64_t> break_run(const std::string& plan, int64_t least) {
    SCOPED_TRACE(plan);
    fs::remove_all(small_.path("run"));
    const int status = train(config("run"), plan);
    EXPECT_TRUE(status == kDone || status == kUser || status == kKilled) << status << stderr_text();
    if (status == kUser) {
      EXPECT_NE(stderr_text().find("error: "), std::string::npos);
    }
    const bool is_struck = was_struck();
    for (const auto step : checkpoint_steps(small_.path("run"))) {
      EXPECT_NO_THROW(verify_manifest(small_.path("run/") + checkpoint_name(step)));
    }
    const auto found = fs::exists(small_.path("run")) ? newest("run").value_or(0) : 0;
    EXPECT_GE(found, least) << "what was there before is lost\n" << stderr_text();
    if (status != kDone) {
      EXPECT_EQ(train(config("run")), kDone) << "does not go on\n" << stderr_text();
    }
    expect_same("straight", "run", plan);
    return is_struck ? std::optional(found) : std::nullopt;
  }
};

// The n-th call is never made: the process dies there (for writes also after half of it), or
// the call fails, or it and all that follow.
TEST_F(IoFaultsTest, EveryCallMayFailWithoutLoss) {
  ASSERT_EQ(train(config("straight")), kDone) << stderr_text();
  int64_t committed = 0;
  int broken = 0;
  for (std::size_t call = 1; !HasFailure(); call += stride(5)) {
    const auto which = std::to_string(call);
    const auto left = break_run("any:" + which + ":SIGKILL", committed);
    if (!left) {
      break;
    }
    committed = *left;
    break_run("any:" + which + ":ENOSPC", committed);
    break_run("any:" + which + "+:EIO", committed);
    broken += 3;
  }
  RecordProperty("broken", broken);
  EXPECT_EQ(committed, 4);
  EXPECT_GE(broken, 50);
}

TEST_F(IoFaultsTest, EveryPartialWriteIsRemoved) {
  ASSERT_EQ(train(config("straight")), kDone) << stderr_text();
  int64_t committed = 0;
  for (std::size_t call = 1; !HasFailure(); call += stride(4)) {
    const auto left = break_run("write:" + std::to_string(call) + ":torn", committed);
    if (!left) {
      break;
    }
    committed = *left;
  }
}

TEST_F(IoFaultsTest, StoreBuildToleratesFaults) {
  const auto calls = calls_of(config("straight"));
  int broken = 0;
  for (std::size_t at = 0; at < calls.size() && !HasFailure(); ++at) {
    if (calls[at].find("/cache") == std::string::npos || at % stride(3) != 0) {
      continue;
    }
    for (const auto* action : {":SIGKILL", ":ENOSPC"}) {
      fs::remove_all(small_.path("cache"));
      EXPECT_TRUE(break_run("any:" + std::to_string(at + 1) + action, 0));
      ++broken;
    }
  }
  EXPECT_GE(broken, 6);
}

/// A run that is stopped while the evaluation after step 2 is due, which is therefore saved twice.
TEST_F(IoFaultsTest, FileSystemWithoutExchangeLosesNoCheckpoint) {
  const std::vector<std::string> evaluates = {"train.evaluate_every=2 steps"};
  ASSERT_EQ(train(config("straight", evaluates)), kDone) << stderr_text();
  const auto calls = calls_of(config("counted", evaluates));
  std::size_t at = 0;
  for (int lines = 0; at < calls.size() && lines < 2; ++at) {
    lines += calls[at] == "write " + small_.path("counted/metrics.jsonl") ? 1 : 0;
  }
  ASSERT_EQ(train(config("stopped", evaluates), "any:" + std::to_string(at) + ":SIGTERM"), kStopped)
      << stderr_text();
  ASSERT_EQ(newest("stopped"), 2) << stderr_text();
  for (std::size_t call = 1; !HasFailure(); call += stride(3)) {
    const auto plan = "exchange:1+:EINVAL;any:" + std::to_string(call) + ":SIGKILL";
    SCOPED_TRACE(plan);
    fs::remove_all(small_.path("run"));
    fs::copy(small_.path("stopped"), small_.path("run"),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const bool is_over = train(config("run", evaluates), plan) == kDone;
    EXPECT_GE(newest("run").value_or(0), 2);
    ASSERT_EQ(train(config("run", evaluates)), kDone) << stderr_text();
    expect_same("straight", "run", plan);
    if (is_over) {
      EXPECT_GT(call, 30U);
      break;
    }
  }
}

// Every file is flushed after its last write, and every directory after its last new name, before
// the checkpoint gets its name.
TEST_F(IoFaultsTest, FilesAreFlushedBeforeTheyAreRenamed) {
  std::set<std::string> unflushed;
  const auto parent = [](const std::string& path) { return fs::path(path).parent_path().string(); };
  int named = 0;
  for (const auto& line : calls_of(config("run"))) {
    std::istringstream words(line);
    std::string call;
    std::string path;
    std::string to;
    words >> call >> path >> to;
    if (call == "write") {
      unflushed.insert(path);
    } else if (call == "flush") {
      unflushed.erase(path);
    } else if (call == "mkdir") {
      unflushed.insert(path);
      unflushed.insert(parent(path));
    } else if (call == "open") {
      unflushed.insert(fs::is_directory(path) ? "" : parent(path));
    } else if (call == "rename" || call == "exchange") {
      for (const auto& other : unflushed) {
        const bool is_below = other == path || other.starts_with(path + "/");
        EXPECT_FALSE(is_below) << other << " is not on the disk when " << path << " becomes " << to;
      }
      named += to.ends_with("checkpoint-2") || to.ends_with("checkpoint-4") ? 1 : 0;
      unflushed.insert(parent(to));
    }
  }
  EXPECT_EQ(named, 2);
}

TEST_F(IoFaultsTest, FullDiskIsDetectedBeforeASaveAndTheRunContinues) {
  ASSERT_EQ(train(config("straight")), kDone) << stderr_text();
  ASSERT_EQ(train(config("run"), "space@/run:2:ENOSPC"), kDone) << stderr_text();
  EXPECT_NE(stderr_text().find(
                "error: [checkpoint] not saved, training continues: " + small_.path("run") +
                ": not enough disk space for a checkpoint: it needs up to "),
            std::string::npos)
      << stderr_text();
  EXPECT_EQ(checkpoint_steps(small_.path("run")), std::vector<int64_t>{4});
  expect_same("straight", "run", "space");

  ASSERT_EQ(train(config("full"), "space@/full:2+:ENOSPC"), kUser);
  EXPECT_NE(stderr_text().find("step 4 of " + small_.path("full") + " is not saved"),
            std::string::npos)
      << stderr_text();
  EXPECT_TRUE(checkpoint_steps(small_.path("full")).empty());
}

TEST_F(IoFaultsTest, FullDiskIsDetectedBeforeTheFirstStep) {
  ASSERT_EQ(train(config("run"), "space@/run:1:ENOSPC"), kUser);
  EXPECT_NE(stderr_text().find("but the disk has only 0 B free"), std::string::npos)
      << stderr_text();
  EXPECT_EQ(stderr_text().find("[train] step"), std::string::npos) << stderr_text();
}

/// Mounts a small file system during its lifetime.
class SmallDisk {
 public:
  SmallDisk(std::string path, const std::string& size) : path_(std::move(path)) {
    fs::create_directories(path_);
    is_there_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (is_there_) {
      ::umount2(path_.c_str(), MNT_DETACH);
    }
  }
  bool is_there() const { return is_there_; }
  void grow(const std::string& size) const {
    ::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str());
  }
  void read_only(bool wish) const {
    ::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | (wish ? MS_RDONLY : 0), "");
  }

 private:
  std::string path_;
  bool is_there_ = false;
};

TEST_F(IoFaultsTest, SmallDiskKeepsWhatFitsAndTheRunEndsWhenItGrows) {
  const SmallDisk disk(small_.path("disk"), "1m");
  if (!disk.is_there()) {
    GTEST_SKIP() << "no file system may be mounted here";
  }
  const std::vector<std::string> wide = {"model.dim=64", "train.save_every=1 steps"};
  ASSERT_EQ(train(config("straight", wide)), kDone) << stderr_text();
  ASSERT_EQ(train(config("disk/run", wide)), kUser) << stderr_text();
  EXPECT_NE(stderr_text().find("not enough disk space"), std::string::npos) << stderr_text();
  const auto kept = checkpoint_steps(small_.path("disk/run"));
  ASSERT_FALSE(kept.empty());
  for (const auto step : kept) {
    EXPECT_NO_THROW(verify_manifest(small_.path("disk/run/") + checkpoint_name(step)));
  }
  disk.grow("16m");
  ASSERT_EQ(train(config("disk/run", wide)), kDone) << stderr_text();
  expect_same("straight", "disk/run", "small disk");
}

TEST_F(IoFaultsTest, ReadOnlyDiskAndMissingPlacesEndWithAMessage) {
  const SmallDisk disk(small_.path("disk"), "4m");
  if (!disk.is_there()) {
    GTEST_SKIP() << "no file system may be mounted here";
  }
  ASSERT_EQ(train(config("disk/run", {"train.duration=2 steps"})), kDone) << stderr_text();
  disk.read_only(true);
  EXPECT_EQ(train(config("disk/run")), kUser);
  EXPECT_NE(stderr_text().find("Read-only file system"), std::string::npos) << stderr_text();
  disk.read_only(false);
  EXPECT_EQ(newest("disk/run"), 2);
  EXPECT_EQ(train(config("run", {"run.directory=/dev/full/run"})), kUser);
  EXPECT_NE(stderr_text().find("error: /dev/full: cannot create the directory: Not a directory"),
            std::string::npos)
      << stderr_text();
}

TEST_F(IoFaultsTest, FileSizeLimitFailsOnlyTheSave) {
  ASSERT_EQ(train(config("straight")), kDone) << stderr_text();
  ASSERT_EQ(train(config("run", {"train.duration=2 steps"})), kDone) << stderr_text();
  ASSERT_EQ(train(config("run"), {.prepare = [] { test::limit_file_size(8192); }}), kUser)
      << stderr_text();
  EXPECT_NE(stderr_text().find("File too large"), std::string::npos) << stderr_text();
  EXPECT_EQ(newest("run"), 2);
  ASSERT_EQ(train(config("run")), kDone) << stderr_text();
  EXPECT_EQ(newest("run"), 4);
}

TEST_F(IoFaultsTest, DeletedRunDirectoryIsCreatedAgain) {
  ASSERT_EQ(train(config("straight")), kDone) << stderr_text();
  const auto take_away = [this](const TrainState& state) {
    if (state.progress.steps == 3) {
      fs::remove_all(small_.path("run"));
    }
  };
  ASSERT_EQ(train(config("run"), {.request = {.on_step = take_away}}), kDone) << stderr_text();
  EXPECT_EQ(newest("run"), 4);
  EXPECT_TRUE(small_.file("straight/checkpoint-4/model.safetensors") ==
              small_.file("run/checkpoint-4/model.safetensors"));
}

// A run stopped before any of its calls ends after a save and resumes bit for bit.
TEST_F(IoFaultsTest, SignalAtAnyCallSavesAndLeaves) {
  const std::vector<std::string> evaluates = {"train.evaluate_every=2 steps"};
  ASSERT_EQ(train(config("straight", evaluates)), kDone) << stderr_text();
  const std::vector<std::string> signals = {"SIGTERM", "SIGINT", "SIGUSR1"};
  int stopped = 0;
  for (std::size_t call = 1; !HasFailure(); call += stride(4)) {
    const auto plan = "any:" + std::to_string(call) + ":" + signals[call % 3];
    SCOPED_TRACE(plan);
    fs::remove_all(small_.path("run"));
    const int status = train(config("run", evaluates), plan);
    ASSERT_TRUE(status == kStopped || status == kDone) << status << stderr_text();
    if (!was_struck()) {
      break;
    }
    if (const auto at = stderr_text().find("stopped after step "); at != std::string::npos) {
      EXPECT_EQ(newest("run"), std::stoi(stderr_text().substr(at + 19))) << stderr_text();
    }
    if (status == kStopped) {
      ++stopped;
      ASSERT_EQ(train(config("run", evaluates)), kDone) << stderr_text();
    }
    expect_same("straight", "run", plan);
  }
  EXPECT_GE(stopped, 20);
}

}  // namespace
}  // namespace weft::train
