#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/parity.h"
#include "support/program.h"

namespace weft::cli {
namespace {

const std::string kBench = WEFT_SOURCE_DIR "/scripts/bench";

test::ProcessResult python(std::vector<std::string> words) {
  words.insert(words.begin(),
               {"/usr/bin/env", "OMP_WAIT_POLICY=PASSIVE", "WEFT=" WEFT_BINARY, "python3"});
  return test::run(words);
}

class BenchScript : public ::testing::Test {
 protected:
  void SetUp() override {
    if (python({"-c", "import sys; sys.exit(sys.version_info < (3, 9))"}).status != 0) {
      GTEST_SKIP() << "scripts/bench needs python3 3.9 or later";
    }
  }
};

TEST_F(BenchScript, SelfTestOfArithmeticTablesAndPlots) {
  const auto done = python({WEFT_SOURCE_DIR "/scripts/bench_kit/selftest.py"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

TEST_F(BenchScript, PeersReadTheSameDataAndModels) {
  const auto run = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/env", "OMP_NUM_THREADS=1", test::python()});
    return test::run(words);
  };
  if (run({"-c", "import numpy, torch"}).status != 0) {
    GTEST_SKIP() << "no Python with torch and numpy (set WEFT_PYTHON)";
  }
  const auto done = run({WEFT_SOURCE_DIR "/scripts/bench_peers/selftest.py"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

TEST_F(BenchScript, ListsItsCases) {
  const auto done = python({kBench, "--list"});
  EXPECT_EQ(done.status, 0) << done.err;
  for (const auto* name :
       {"bert-mini-mlm-bf16", "gpt-mini-causal-bf16", "transformer-multi30k-bf16",
        "vit-cifar10-bf16", "minilm-embed-int8", "multi30k-translate-fp32", "llama-generate-bf16",
        "tokenizer-gpt2", "environment openvino: openvino, nncf"}) {
    EXPECT_NE(done.out.find(name), std::string::npos) << done.out;
  }
  EXPECT_NE(done.out.find("torch.compile"), std::string::npos) << done.out;
}

TEST_F(BenchScript, RefusesNumbersOfTokensThatAreNone) {
  const auto done = python({kBench, "--learning", "--tokens", "2M"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("'2M' is not an integer of at least 1"), std::string::npos) << done.err;
}

TEST_F(BenchScript, RefusesCasesThatItDoesNotKnow) {
  const auto done = python({kBench, "--case", "bert-huge"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("'bert-huge' is not one of sample-mlm-fp32"), std::string::npos)
      << done.err;
}

TEST_F(BenchScript, MeasuresWeftAloneOnTheTextsOfTheRepository) {
  const test::TemporaryDirectory directory;
  const auto done = python({kBench, "--case", "sample-mlm-fp32", "--peer", "none", "--pairs", "2",
                            "--steps", "2", "--output", directory.path()});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("| Weft |"), std::string::npos) << done.out;
  const auto results = test::contents(directory / "results.json");
  EXPECT_NE(results.find("\"product_share\""), std::string::npos) << results;
  EXPECT_NE(test::contents(directory / "comparison.svg").find("</svg>"), std::string::npos);
}

TEST_F(BenchScript, FitsGrowthToMeasuredSteps) {
  const test::TemporaryDirectory directory;
  const auto done = python({kBench, "--growth", "--case", "sample-mlm-fp32", "--sweep", "threads",
                            "--pairs", "1", "--steps", "1", "--output", directory.path()});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("| threads | 1 to 2 |"), std::string::npos) << done.out;
  EXPECT_NE(test::contents(directory / "growth.svg").find("<circle"), std::string::npos);
}

class LadderScript : public BenchScript {
 protected:
  static constexpr const char* kLadder = WEFT_SOURCE_DIR "/scripts/ladder";

  test::ProcessResult ladder(const std::string& options) {
    return python({"-c",
                   "import os, sys; os.chdir(sys.argv[1]); os.execvp(sys.argv[2], sys.argv[2:])",
                   directory_.path(), "/bin/sh", "-c",
                   std::string(kLadder) + " --weft " WEFT_BINARY " " + options});
  }

  test::TemporaryDirectory directory_;
};

TEST_F(LadderScript, TrainsModelsOnceAndPrintsATable) {
  std::filesystem::create_directory(directory_ / "corpora");
  std::filesystem::create_symlink(WEFT_SOURCE_DIR "/data/spam", directory_ / "corpora/sms_spam");
  const auto done = ladder("--only spam_fasttext");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("| model | accuracy | parameters | seconds | tokens/s |"),
            std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("| fasttext | **0."), std::string::npos) << done.out;
  const auto again = ladder("--only 'spam_*' --table");
  EXPECT_EQ(again.out, done.out);
  EXPECT_EQ(again.err.find("[ladder]"), std::string::npos) << again.err;
}

TEST_F(LadderScript, SaysWhatFails) {
  const auto nothing = ladder("--only 'x*'");
  EXPECT_EQ(nothing.status, 2);
  EXPECT_NE(nothing.err.find("'x*' matches no config of configs/ladder"), std::string::npos);
  const auto no_data = ladder("--only spam_fasttext");
  EXPECT_NE(no_data.status, 0);
  EXPECT_NE(no_data.err.find("corpora/sms_spam/train.tsv"), std::string::npos) << no_data.err;
}

}  // namespace
}  // namespace weft::cli
