#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/train/train.h"
#include "support/program.h"

namespace weft::cli {
namespace {

constexpr const char* kSweepConfig = R"(
model: {type: bag_of_words}
tokenizer: {type: wordpiece, vocab_size: 800, train_on: data}
data:
  train: [{path: SOURCE/data/spam/train.tsv}]
  evaluate: [{path: SOURCE/data/spam/dev.tsv}]
objective: {type: classify}
train:
  duration: 20 steps
  batch_sequences: 32
  optimizer: {type: adamw, lr: 3e-2}
  evaluate_every: 10 steps
  save_every: never
  threads: 1
run: {directory: WORK/runs, seed: 3}
)";

class SweepCommand : public ::testing::Test {
 protected:
  SweepCommand() {
    std::string config = kSweepConfig;
    for (const auto& [word, value] :
         {std::pair<std::string, std::string>{"SOURCE", WEFT_SOURCE_DIR},
          {"WORK", directory_.path()}}) {
      config = test::filled(config, word, value);
    }
    std::ofstream(directory_ / "config.yaml") << config;
  }

  test::ProcessResult train(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"train", directory_ / "config.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::weft(arguments);
  }

  test::TemporaryDirectory directory_;
};

TEST(Seeds, AreACountOrAList) {
  EXPECT_EQ(read_seeds("3", 7), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(read_seeds("5,1,2", 7), (std::vector<int64_t>{5, 1, 2}));
  for (const auto* word : {"0", "-1", "x", "", "1,1", "1,,2", "1001", "1, 2"}) {
    EXPECT_THROW(read_seeds(word, 1), UsageError) << word;
  }
}

TEST_F(SweepCommand, WritesJsonOfAllSeeds) {
  const std::string test = std::string(WEFT_SOURCE_DIR) + "/data/spam/test.tsv";
  const auto done = train({"--seeds", "2", "--test", test, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto output = nlohmann::json::parse(done.out);
  const auto& metrics = output["settings"][0]["metrics"];
  EXPECT_EQ(metrics["test_accuracy"]["values"].size(), 2U);
  EXPECT_GT(metrics["eval_accuracy"]["mean"].get<double>(), 0.7);
  EXPECT_EQ(output["settings"][0]["runs"][0]["seed"], 3);
}

TEST_F(SweepCommand, NamesTheBestOfAGrid) {
  const auto done = train({"--set", "grid={train.optimizer.lr: [1e-6, 3e-2]}"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("best by eval_accuracy: train.optimizer.lr=3e-2"), std::string::npos)
      << done.out;
}

TEST_F(SweepCommand, RefusesWhatIsForOneRun) {
  EXPECT_EQ(train({"--seeds", "2", "--dry-run"}).status, 2);
  EXPECT_EQ(train({"--seeds", "2", "--resume", "elsewhere"}).status, 2);
  EXPECT_EQ(train({"--json"}).status, 2);
  EXPECT_EQ(train({"--folds", "1"}).status, 2);
  const auto mlm = train({"--set", "objective.type=mlm"});
  EXPECT_EQ(mlm.status, 2);
  EXPECT_NE(mlm.err.find("objective.type: mlm cannot train a model of type bag_of_words"),
            std::string::npos)
      << mlm.err;
}

}  // namespace
}  // namespace weft::cli
