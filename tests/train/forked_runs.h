#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fault_injection.h"
#include "base/log.h"
#include "train/child_run.h"
#include "train/small_run.h"

namespace weft::test {

using train::RunConfig;

/// WEFT_TORTURE=1 makes every call fail; otherwise a test uses a sample of the calls.
inline std::size_t stride(std::size_t quick) {
  return std::getenv("WEFT_TORTURE") != nullptr ? 1 : quick;
}

/// Tests of trainings in separate processes.
class ForkedRuns : public ::testing::Test {
 protected:
  ForkedRuns() { log::set_level(log::Level::kError); }

  RunConfig config(const std::string& directory, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> overrides = {"train.duration=4 steps", "train.save_every=2 steps",
                                          "train.log_every=1 steps", "data.num_workers=0",
                                          "train.save_async=false"};  // calls in one order
    overrides.insert(overrides.end(), more.begin(), more.end());
    return small_.config("mlm", directory, overrides);
  }

  int train(const RunConfig& config, const ChildTraining& training) const {
    const auto log = small_.path("stderr");
    std::filesystem::remove(log + ".struck");
    return wait_for(start_training(config, log, training));
  }
  int train(const RunConfig& config, const std::string& plan = "") const {
    return train(config, ChildTraining{.plan = plan});
  }

  /// The calls of an undisturbed run, in their order.
  std::vector<std::string> calls_of(const RunConfig& config) const {
    const auto list = small_.path("calls");
    const auto write = [&list] {
      std::ofstream file(list);
      for (const auto& call : fault::recorded()) {
        file << call << "\n";
      }
    };
    EXPECT_EQ(train(config, {.prepare = [] { fault::record(true); }, .end = write}), kDone);
    std::vector<std::string> calls;
    std::ifstream file(list);
    for (std::string call; std::getline(file, call);) {
      calls.push_back(call);
    }
    return calls;
  }

  std::string stderr_text() const { return small_.file("stderr"); }
  /// Whether the last run met a call that its plan names.
  bool was_struck() const { return small_.file("stderr.struck") != "0"; }
  std::optional<int64_t> newest(const std::string& run) const {
    return newest_step(small_.path(run));
  }

  void expect_same(const std::string& straight, const std::string& run, const std::string& what) {
    for (const auto* name : {"model.safetensors", "training/optimizer.safetensors"}) {
      const auto expected = small_.file(straight + "/checkpoint-4/" + name);
      ASSERT_FALSE(expected.empty());
      EXPECT_TRUE(expected == small_.file(run + "/checkpoint-4/" + name)) << what << ": " << name;
    }
    EXPECT_EQ(small_.metrics(straight), small_.metrics(run)) << what;
  }

  SmallRun small_;
};

}  // namespace weft::test
