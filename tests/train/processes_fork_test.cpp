// Signals at any moment, and more than one process.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "train/forked_runs.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

using Steady = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
using test::kDone;
using test::kKilled;
using test::kStopped;
using test::kUser;

void wait_ms(double milliseconds) { ::usleep(static_cast<useconds_t>(1000 * milliseconds)); }

class ProcessesTest : public test::ForkedRuns {
 protected:
  pid_t start(const RunConfig& config, const std::string& plan = "") const {
    return test::start_training(config, small_.path("stderr"), {.plan = plan});
  }
  static void wait_until_there(const std::string& path) {
    for (int i = 0; i < 20000 && !fs::exists(path); ++i) {
      wait_ms(1);
    }
    ASSERT_TRUE(fs::exists(path)) << path;
  }

  /// Sends the signal at moments all over a run's time; each time the next process ends as the
  /// undisturbed one. Returns how many runs it ended.
  int send_at_any_moment(int signal, int moments, int expected) {
    const auto begin = Steady::now();
    EXPECT_EQ(train(config("straight", evaluates_)), kDone) << stderr_text();
    const double whole = Milliseconds(Steady::now() - begin).count();
    int ended = 0;
    for (int i = 0; i < moments && !HasFailure(); ++i) {
      fs::remove_all(small_.path("run"));
      fs::remove_all(small_.path("cache"));
      const auto child = start(config("run", evaluates_));
      wait_ms(whole * i / moments);
      ::kill(child, signal);
      const int status = test::wait_for(child);
      // Before its handlers are installed, a signal kills the process.
      EXPECT_TRUE(status == expected || status == kDone || (i == 0 && status == 128 + signal))
          << status << stderr_text();
      ended += status == kDone ? 0 : 1;
      EXPECT_EQ(train(config("run", evaluates_)), kDone) << stderr_text();
      expect_same("straight", "run", "moment " + std::to_string(i));
    }
    return ended;
  }

  std::vector<std::string> evaluates_ = {"train.evaluate_every=1 steps"};
};

TEST_F(ProcessesTest, KilledAtAnyMomentResumesBitForBit) {
  const int moments = test::stride(2) == 1 ? 200 : 12;
  EXPECT_GE(send_at_any_moment(SIGKILL, moments, kKilled), moments / 2);
}

TEST_F(ProcessesTest, SignalledAtAnyMomentSavesAndResumesBitForBit) {
  const int moments = test::stride(2) == 1 ? 60 : 8;
  EXPECT_GE(send_at_any_moment(SIGTERM, moments, kStopped), moments / 3);
}

TEST_F(ProcessesTest, SecondSignalLeavesAtOnce) {
  ASSERT_EQ(train(config("straight")), kDone) << stderr_text();
  const auto child = start(config("run"), "flush:1+:slow");
  wait_until_there(small_.path("run/checkpoint-2.tmp"));
  ::kill(child, SIGTERM);
  wait_ms(150);
  const auto begin = Steady::now();
  ::kill(child, SIGINT);
  EXPECT_EQ(test::wait_for(child), kStopped);
  EXPECT_LT(Milliseconds(Steady::now() - begin).count(), 250);
  EXPECT_FALSE(fs::exists(small_.path("run/checkpoint-2"))) << "the save had time to end";
  ASSERT_EQ(train(config("run")), kDone) << stderr_text();
  expect_same("straight", "run", "two signals");
}

TEST_F(ProcessesTest, SecondOneOnARunDirectoryIsRefused) {
  const auto holder = start(config("run"), "flush:1+:slow");
  wait_until_there(small_.path("run/config.yaml"));
  const auto log = small_.path("second");
  EXPECT_EQ(test::wait_for(test::start_training(config("run"), log)), kUser);
  EXPECT_NE(small_.file("second").find("error: " + small_.path("run") +
                                       ": another process is training in this run directory"),
            std::string::npos)
      << small_.file("second");
  ::kill(holder, SIGKILL);
  EXPECT_EQ(test::wait_for(holder), kKilled);
  EXPECT_EQ(train(config("run")), kDone) << "a dead process has no lock\n" << stderr_text();
}

TEST_F(ProcessesTest, TwoBuildOneTokenStoreAtOnce) {
  const auto first = start(config("straight"), "write:1+:slow");
  const auto second =
      test::start_training(config("run"), small_.path("second"), {.plan = "write:1+:slow"});
  EXPECT_EQ(test::wait_for(first), kDone) << stderr_text();
  EXPECT_EQ(test::wait_for(second), kDone) << small_.file("second");
  expect_same("straight", "run", "one store");
  for (const auto& entry : fs::directory_iterator(small_.path("cache"))) {
    EXPECT_TRUE(entry.path().extension() == ".tokens") << entry.path();
  }
}

}  // namespace
}  // namespace weft::train
