#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "cli/tiny_decoder.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using Command = std::vector<std::string>;

/// What the command prints and leaves in the file `output`, if it has one.
std::string result_of(const Command& command, const std::string& output = "") {
  const auto done = test::weft(command);
  EXPECT_EQ(done.status, 0) << done.err;
  std::string warnings;
  for (const auto line : split(done.err, '\n')) {
    if (line.find("warning: ") != std::string_view::npos) {
      warnings += test::filled(std::string(line), "[rank 0] ", "") + "\n";
    }
  }
  return done.out + "\n" + warnings + (output.empty() ? "" : test::contents(output));
}

/// Runs the command in one process and on two and three ranks: the results must be the same.
void expect_same_on_ranks(const Command& command, const std::string& output = "") {
  const auto wanted = result_of(command, output);
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    Command launched = {"launch", "--ranks", std::to_string(ranks), "--"};
    launched.insert(launched.end(), command.begin(), command.end());
    EXPECT_EQ(result_of(launched, output), wanted);
  }
}

class ModelOnRanks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new test::TemporaryDirectory;
    const auto config = test::filled(R"(
model: {preset: bert-tiny, position: {type: learned, length: 32}}
tokenizer: {type: wordpiece, vocab_size: 500, train_on: data}
data: {train: [{path: SOURCE/data/spam/train.tsv}], length: 32}
objective: {type: classify}
train: {duration: 4 steps, batch_tokens: 512, precision: fp32, threads: 1}
)",
                                     "SOURCE", WEFT_SOURCE_DIR);
    test::write(*work_ / "spam.yaml", config);
    const auto done = test::weft({"train", *work_ / "spam.yaml", "--output", *work_ / "spam"});
    ASSERT_EQ(done.status, 0) << done.err;
    std::string texts;
    for (int i = 0; i < 2500; ++i) {  // several blocks, and a part of one
      texts += str_cat("text number ", i, i % 5 == 0 ? " with a few more words" : "", "\n");
    }
    texts += "long" + std::string(200, '!') + "\n";  // longer than the model
    test::write(*work_ / "texts.txt", texts);
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string file(const std::string& name) { return *work_ / name; }

  static test::TemporaryDirectory* work_;
};

test::TemporaryDirectory* ModelOnRanks::work_ = nullptr;

TEST_F(ModelOnRanks, PredictsEachTextOnce) {
  expect_same_on_ranks({"predict", file("spam"), "--plain", "--input", file("texts.txt"),
                        "--output", file("answers.csv"), "--threads", "1"},
                       file("answers.csv"));
}

TEST_F(ModelOnRanks, EmbedsEachTextOnce) {
  expect_same_on_ranks({"embed", file("spam"), "--input", file("texts.txt"), "--output",
                        file("vectors.safetensors"), "--format", "safetensors", "--threads", "1"},
                       file("vectors.safetensors"));
  expect_same_on_ranks({"embed", file("spam"), "--input", file("texts.txt"), "--threads", "1"});
}

TEST_F(ModelOnRanks, Evaluates) {
  expect_same_on_ranks(
      {"evaluate", file("spam"), "--data", std::string(WEFT_SOURCE_DIR) + "/data/spam/test.tsv",
       "--hardest", file("hardest.jsonl"), "--threads", "1"},
      file("hardest.jsonl"));
}

TEST_F(ModelOnRanks, GeneratesAndScores) {
  const test::TinyDecoder model;
  std::string prompts;
  std::string questions;
  for (int i = 0; i < 300; ++i) {
    prompts += str_cat("{\"prompt\": \"number ", i, "\"}\n");
    questions += str_cat("{\"context\": \"number ", i, "\", \"choices\": [\"one\", \"", i,
                         "\"], \"label\": ", i % 2, "}\n");
  }
  test::write(file("prompts.jsonl"), prompts);
  test::write(file("questions.jsonl"), questions);
  expect_same_on_ranks({"generate", model.path(), "--input", file("prompts.jsonl"), "--max-new",
                        "4", "--temperature", "0.9", "--top-p", "0.8", "--seed", "3", "--threads",
                        "1"});
  expect_same_on_ranks(
      {"score", model.path(), "--input", file("questions.jsonl"), "--threads", "1"});
}

TEST_F(ModelOnRanks, NeedsInputThatAllRanksCanRead) {
  const auto done = test::weft({"launch", "--ranks", "2", "--", "predict", file("spam")});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("several ranks cannot read standard input"), std::string::npos)
      << done.err;
  const auto inspect = test::weft({"launch", "--ranks", "2", "--", "predit", file("spam")});
  EXPECT_EQ(inspect.status, 2);
  EXPECT_NE(inspect.err.find("did you mean 'predict'?"), std::string::npos) << inspect.err;
}

}  // namespace
}  // namespace weft::cli
