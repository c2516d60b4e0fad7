#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/string_util.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMaskedLanguageModel = R"(
model: {preset: bert-tiny, layers: 2, position: {type: learned, length: 64}}
tokenizer: {type: wordpiece, vocab_size: 800, train_on: data}
data:
  train: [{path: SOURCE/data/corpus/*.txt}]
  evaluate: [{path: SOURCE/data/held_out.txt}]
  cache_dir: WORK/cache
  length: 64
objective: {type: mlm}
train:
  duration: 20 steps
  batch_tokens: 1024
  optimizer: {type: adamw, lr: 1e-3}
  precision: PRECISION
  threads: 1
  log_every: 1 steps
  save_every: 5 steps
  evaluate_every: 10 steps
run: {directory: WORK/none, seed: 3, device: cpu, keep: {last: 5}}
)";

std::string write_config(const test::TemporaryDirectory& work, const std::string& precision) {
  auto text = test::filled(kMaskedLanguageModel, "SOURCE", WEFT_SOURCE_DIR);
  text = test::filled(test::filled(text, "WORK", work.path()), "PRECISION", precision);
  test::write(work / "config.yaml", text);
  return work / "config.yaml";
}

/// Trains in a run directory on so many ranks; `settings`: for --set.
void train(const std::string& run,
           const std::string& config,
           int ranks,
           const std::vector<std::string>& settings = {}) {
  std::vector<std::string> command = {
      "launch", "--ranks", std::to_string(ranks), "--", "train", config, "--output", run};
  for (const auto& setting : settings) {
    command.insert(command.end(), {"--set", setting});
  }
  const auto done = test::weft(command);
  EXPECT_EQ(done.status, 0) << done.err;
}

/// Trains on so many ranks; returns the run directory.
std::string trained(const test::TemporaryDirectory& work, const std::string& config, int ranks) {
  const auto run = work / ("ranks-" + std::to_string(ranks));
  train(run, config, ranks);
  return run;
}

/// The values of a metric by step.
std::map<int64_t, double> metric(const std::string& run, const std::string& name) {
  std::map<int64_t, double> values;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.contains(name)) {
      values[row["step"]] = row[name];
    }
  }
  return values;
}

std::string weights(const std::string& run) {
  return test::contents(run + "/last/model.safetensors");
}

void expect_near(const std::map<int64_t, double>& found,
                 const std::map<int64_t, double>& wanted,
                 double tolerance) {
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [step, value] : wanted) {
    EXPECT_NEAR(found.at(step), value, tolerance * std::abs(value)) << "step " << step;
  }
}

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

/// Process ids of the ranks of a run directory, by their arguments.
std::vector<pid_t> ranks_of(const std::string& run) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto arguments = test::contents(entry.path() / "cmdline");
    if (arguments.starts_with(std::string("weft\0train\0", 11)) &&
        arguments.find(run) != std::string::npos) {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool wait_until(const std::function<bool()>& is_true) {
  for (int i = 0; i < 3000 && !is_true(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_true();
}

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

std::string optimizer_state(const std::string& run) {
  return test::contents(run + "/last/training/optimizer.safetensors");
}

/// Both runs must have the same bits in everything that they wrote.
void expect_same_run(const std::string& run, const std::string& wanted) {
  for (const auto* const name : {"train/loss", "train/grad_norm", "eval/loss"}) {
    EXPECT_EQ(metric(run, name), metric(wanted, name)) << name;
  }
  EXPECT_TRUE(weights(run) == weights(wanted));
  EXPECT_TRUE(optimizer_state(run) == optimizer_state(wanted));
}

class ShardedRun : public ::testing::TestWithParam<std::string> {};

// Two and three ranks: with two, parts divide evenly. Clipping needs the norm over all ranks.
TEST_P(ShardedRun, HasTheBitsOfAnUnshardedOne) {
  const test::TemporaryDirectory work;
  const std::vector<std::vector<std::string>> variants = {
      {"train.clip_norm=0.1", "train.gradient_checkpointing=layers", "train.ema.decay=0.9"},
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
  EXPECT_NE(message({"launch", "--", "predict"}).find("'predict' after --"), std::string::npos);
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
