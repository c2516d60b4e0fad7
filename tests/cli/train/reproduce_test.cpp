#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace weft::cli {
namespace {

class ReproduceTest : public ::testing::Test {
 protected:
  ReproduceTest() {
    test::write(work_ / "config.yaml",
                "model: {preset: bert-tiny, dim: 16, layers: 1, attention: {type: full, heads: 2}, "
                "position: {type: learned, length: 64}, feed_forward: {width: 32}}\n"
                "tokenizer: {type: wordpiece, vocab_size: 300, train_on: data}\n"
                "data: {train: [{path: " WEFT_SOURCE_DIR "/data/spam/train.tsv}], cache_dir: " +
                    (work_ / "cache") +
                    "}\nobjective: {type: classify}\n"
                    "train: {duration: 12 steps, batch_sequences: 16, precision: fp32, threads: 2, "
                    "log_every: 1 steps, evaluate_every: never, save_every: 5 steps}\n"
                    "run: {directory: " +
                    (work_ / "run") + ", device: cpu}\n");
  }
  test::ProcessResult train(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "train");
    return test::weft(arguments);
  }
  test::TemporaryDirectory work_;
};

TEST_F(ReproduceTest, VerifiesResumeAndLeavesNothingBehind) {
  const auto check = train({work_ / "config.yaml", "--verify-resume", "--steps", "7"});
  ASSERT_EQ(check.status, 0) << check.err;
  const auto output = nlohmann::json::parse(check.out);
  EXPECT_EQ(output["equal"], true);
  EXPECT_EQ(output["steps"], 7);
  EXPECT_EQ(output["new_process_after"], 3);
  EXPECT_EQ(output["lines"], 7);
  EXPECT_NE(
      check.err.find("[resume] 7 steps in one process and 3 + 4 steps in two are identical: "),
      std::string::npos)
      << check.err;
  EXPECT_FALSE(std::filesystem::exists(work_ / "run"));
}

TEST_F(ReproduceTest, RunIsRepeatedAndADifferenceIsStatusOne) {
  const auto run = train({work_ / "config.yaml"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err.find("checksums"), std::string::npos);
  const auto repeated = train({"--reproduce", work_ / "run", "--verbose"});
  EXPECT_NE(repeated.err.find("[run] checksums: config "), std::string::npos);
  ASSERT_EQ(repeated.status, 0) << repeated.err;
  EXPECT_EQ(nlohmann::json::parse(repeated.out)["step"], 12);
  EXPECT_NE(repeated.err.find("[reproduce] step 12 is identical: "), std::string::npos);
  auto lines = test::contents(work_ / "run-repeat/metrics.jsonl");
  test::write(work_ / "run-repeat/metrics.jsonl",
              test::filled(lines, "\"train/tokens\":", "\"a\":"));
  const auto other = train({"--reproduce", work_ / "run"});  // finished: only compared
  EXPECT_EQ(other.status, 1) << other.err;
  EXPECT_NE(other.err.find("error: [reproduce] metrics.jsonl: line 1: "), std::string::npos)
      << other.err;
}

TEST_F(ReproduceTest, WhatDoesNotGoTogetherIsRefused) {
  const auto config = work_ / "config.yaml";
  EXPECT_EQ(train({config, "--steps", "4"}).status, 2);
  EXPECT_EQ(train({config, "--verify-resume", "--seeds", "2"}).status, 2);
  EXPECT_EQ(train({config, "--verify-resume", "--output", "x"}).status, 2);
  EXPECT_EQ(train({config, "--verify-resume", "--steps", "1"}).status, 2);
  EXPECT_EQ(train({config, "--reproduce", work_ / "run"}).status, 2);
  EXPECT_EQ(train({"--reproduce", work_ / "run", "--set", "run.seed=3"}).status, 2);
  EXPECT_EQ(train({"--reproduce", work_ / "nowhere"}).status, 2);
  const auto none = train({});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("weft train: too few arguments"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace weft::cli
