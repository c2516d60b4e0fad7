#include <csignal>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/string_util.h"
#include "cli/train/launched_runs.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

class Launch : public ::testing::TestWithParam<std::string> {};

TEST_P(Launch, LossesDoNotDependOnTheNumberOfRanks) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, GetParam());
  const auto plain = work / "plain";
  ASSERT_EQ(test::weft({"train", config, "--output", plain}).status, 0);
  const bool is_fp32 = GetParam() == "fp32";
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    const auto run = trained(work, config, ranks);
    EXPECT_EQ(metric(run, "train/tokens"), metric(plain, "train/tokens"));
    if (ranks == 1) {
      EXPECT_EQ(metric(run, "train/loss"), metric(plain, "train/loss"));
      EXPECT_EQ(weights(run), weights(plain));
    }
    const double tolerance = is_fp32 ? 2e-5 : 5e-3;
    expect_near(metric(run, "train/loss"), metric(plain, "train/loss"), tolerance);
    expect_near(metric(run, "eval/loss"), metric(plain, "eval/loss"), tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions,
                         Launch,
                         ::testing::Values("fp32", "bf16"),
                         [](const auto& test) { return test.param; });

TEST(LaunchedRun, RestartsAfterAKilledRankAndEndsTheSame) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto undisturbed = trained(work, config, 2);
  for (const int victim : {0, 1}) {
    SCOPED_TRACE(victim);
    const test::TemporaryDirectory streams;
    const auto run = work / ("killed-" + std::to_string(victim));
    const auto launcher = test::start({WEFT_BINARY, "launch", "--ranks", "2", "--restarts", "1",
                                       "--", "train", config, "--output", run},
                                      streams.path());
    ASSERT_TRUE(wait_until([&] { return fs::exists(run + "/checkpoint-5"); }));
    const auto ranks = ranks_of(run);
    ASSERT_EQ(ranks.size(), 2U);
    ::kill(ranks[static_cast<std::size_t>(victim)], SIGKILL);
    const auto done = test::finish(launcher, streams.path());
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_NE(done.err.find("starting all ranks again"), std::string::npos) << done.err;
    EXPECT_EQ(weights(run), weights(undisturbed));
    EXPECT_EQ(metric(run, "train/loss"), metric(undisturbed, "train/loss"));
    EXPECT_TRUE(ranks_of(run).empty());
  }
}

TEST(LaunchedRun, StopsOnAllRanksAndResumesOnAnotherNumberOfThem) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto undisturbed = trained(work, config, 2);
  const auto run = work / "stopped";
  const test::TemporaryDirectory streams;
  const auto launcher =
      test::start({WEFT_BINARY, "launch", "--ranks", "2", "--", "train", config, "--output", run},
                  streams.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(run + "/checkpoint-5"); }));
  ::kill(launcher, SIGTERM);
  EXPECT_EQ(test::finish(launcher, streams.path()).status, 143);
  EXPECT_TRUE(ranks_of(run).empty());
  const auto resumed =
      test::weft({"launch", "--ranks", "3", "--", "train", config, "--output", run});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  expect_near(metric(run, "train/loss"), metric(undisturbed, "train/loss"), 2e-5);
}

TEST(LaunchedRun, ASignalToOneRankStopsAll) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto undisturbed = trained(work, config, 3);
  const auto run = work / "stopped";
  const test::TemporaryDirectory streams;
  const auto launcher = test::start({WEFT_BINARY, "launch", "--ranks", "3", "--restarts", "1", "--",
                                     "train", config, "--output", run},
                                    streams.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(run + "/checkpoint-5"); }));
  const auto ranks = ranks_of(run);
  ASSERT_EQ(ranks.size(), 3U);
  ::kill(ranks[2], SIGTERM);
  const auto done = test::finish(launcher, streams.path());
  EXPECT_EQ(done.status, 143) << done.err;
  std::size_t stopped = 0;
  for (auto at = done.err.find("and saved;"); at != std::string::npos;
       at = done.err.find("and saved;", at + 1)) {
    ++stopped;
  }
  EXPECT_EQ(stopped, 3U) << done.err;
  EXPECT_EQ(done.err.find("starting all ranks again"), std::string::npos) << done.err;
  train(run, config, 3);
  EXPECT_EQ(weights(run), weights(undisturbed));
  EXPECT_EQ(metric(run, "train/loss"), metric(undisturbed, "train/loss"));
}

TEST(LaunchedRun, LogsWhatEachRankDoes) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto run = work / "run";
  const auto done = test::weft({"launch", "--ranks", "2", "--", "train", config, "--output", run,
                                "--log-dir", work / "logs/new", "--set", "train.clip_norm=-1"});
  EXPECT_EQ(done.status, 2);
  const auto error = test::contents(work / "logs/new/rank-1.log");
  EXPECT_NE(error.find(" error "), std::string::npos) << error;
  EXPECT_NE(error.find("clip_norm"), std::string::npos) << error;
  const auto again = test::weft({"launch", "--ranks", "2", "--", "train", config, "--output", run,
                                 "--log-dir", work / "logs/new"});
  ASSERT_EQ(again.status, 0) << again.err;
  const auto loss = metric(run, "train/loss");
  const auto max_loss = metric(run, "train/max_loss");
  ASSERT_EQ(loss.size(), max_loss.size());
  double tokens_per_second = 0;
  for (const auto* const rank : {"rank_0", "rank_1"}) {
    const auto prefix = str_cat("throughput/", rank);
    const auto rate = metric(run, prefix + "/tokens_per_second");
    const auto waited = metric(run, prefix + "/communication_ms_per_step");
    ASSERT_EQ(rate.size(), loss.size());
    ASSERT_EQ(waited.size(), loss.size());
    EXPECT_GT(waited.at(20), 0);
    tokens_per_second += rate.at(20);
  }
  // Without the time that they wait, ranks compute faster than the run as a whole.
  EXPECT_GE(tokens_per_second, metric(run, "throughput/tokens_per_second").at(20));
  for (const auto& [step, value] : loss) {
    EXPECT_GE(max_loss.at(step), value) << "one of two micro-batches is above their mean";
    EXPECT_LT(max_loss.at(step), 1.2 * value);
  }
  for (const auto* const rank : {"0", "1"}) {
    const auto log = test::contents(work / str_cat("logs/new/rank-", rank, ".log"));
    EXPECT_NE(log.find(" info [train] step 20/20"), std::string::npos) << log;
  }
  EXPECT_EQ(again.err.find("[rank 1]"), std::string::npos) << again.err;
}

TEST(RankPlan, DryRunEstimatesSeveralRanks) {
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto done = test::weft({"train", config, "--dry-run", "--ranks", "4"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto rows = nlohmann::json::parse(done.out)["ranks"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["shard"], "none");
  EXPECT_EQ(rows[3]["shard"], "all");
  EXPECT_LT(rows[1]["memory_bytes"], rows[0]["memory_bytes"]);
  EXPECT_EQ(rows[0]["network_bytes_per_step"], rows[1]["network_bytes_per_step"]);  // in fp32
  double before = 0;
  for (const auto& link : rows[0]["links"]) {
    EXPECT_GT(link["efficiency"], before) << "a faster link must not be slower";
    before = link["efficiency"];
  }
  EXPECT_NE(done.err.find("shard: all: at most "), std::string::npos) << done.err;
  EXPECT_EQ(test::weft({"train", config, "--ranks", "4"}).status, 2);
}

TEST(RankPlan, DryRunEstimatesExpertParallelism) {
  const test::TemporaryDirectory work;
  const auto done =
      test::weft({"train", write_config(work, "fp32"), "--dry-run", "--ranks", "4", "--set",
                  "model.feed_forward={type: mixture_of_experts, experts: 8}"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto rows = nlohmann::json::parse(done.out)["ranks"];
  ASSERT_EQ(rows.size(), 5U);
  const auto& all = rows[3];
  const auto& parallel = rows[4];
  EXPECT_EQ(all["shard"], "all");
  EXPECT_EQ(parallel["shard"], "all");
  EXPECT_FALSE(all["expert_parallel"]);
  EXPECT_TRUE(parallel["expert_parallel"]);
  EXPECT_LT(parallel["memory_bytes"], all["memory_bytes"]);
  EXPECT_LT(parallel["network_bytes_per_step"], all["network_bytes_per_step"]);
}

TEST(RankPlan, InspectTellsHowManyRanksALargeModelNeeds) {
  const test::TemporaryDirectory work;
  auto text = test::contents(write_config(work, "bf16"));
  text = "model: {preset: llama-2-7b}\n" + text.substr(text.find("tokenizer:"));
  text = test::filled(text, "{type: mlm}", "{type: causal}");
  text = test::filled(text, "{type: wordpiece,", "{type: unigram,");
  test::write(work / "large.yaml", text);
  const auto done = test::weft({"inspect", work / "large.yaml"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto at = done.out.find("Ranks needed, by the memory of each");
  ASSERT_NE(at, std::string::npos) << done.out;
  EXPECT_NE(done.out.find("too large", at), std::string::npos);  // unsharded in 24 GB
  EXPECT_NE(done.out.find("192 GB", at), std::string::npos);
}

TEST(LaunchedRun, RefusesWhatRunsInOneProcess) {
  const auto message = [](const std::vector<std::string>& arguments) {
    return test::weft(arguments).err;
  };
  EXPECT_NE(message({"launch", "--ranks", "2"}).find("no command after --"), std::string::npos);
  EXPECT_NE(message({"launch", "--", "inspect"}).find("weft launch: -- 'inspect'"),
            std::string::npos);
  EXPECT_NE(message({"launch", "--nodes", "2", "--", "train", "a.yaml"}).find("--master-addr"),
            std::string::npos);
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto refused = test::weft({"launch", "--ranks", "2", "--", "train", config, "--dry-run"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--dry-run runs in one process"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace weft::cli
