#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tiny_decoder.h"
#include "cli/tiny_translator.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

constexpr const char* kShortlistModel =
    "{preset: transformer-base, dim: 8, layers: 1, attention: {heads: 2}, feed_forward: {width: "
    "8}, position: {length: 32}}";

class ShortlistCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    // a - x, b - y, c - z, with d and w by themselves
    const auto done = test::train_tiny_translator(
        work_, kShortlistModel, "source\ttarget\na b\tx y\nb c\ty z\na c\tx z\na\tx\nc\tz\nd\tw\n");
    ASSERT_EQ(done.status, 0) << done.err;
  }

  test::ProcessResult shortlist(const std::vector<std::string>& options) const {
    std::vector<std::string> words = {"data", "shortlist", work_ / "run"};
    words.insert(words.end(), options.begin(), options.end());
    return test::weft(words);
  }

  test::ProcessResult generate(const std::vector<std::string>& options) const {
    std::vector<std::string> words = {"generate",  work_ / "run", "--threads", "1",
                                      "--max-new", "6",           "--ids"};
    words.insert(words.end(), options.begin(), options.end());
    return test::weft(words);
  }

  test::TemporaryDirectory work_;
};

TEST_F(ShortlistCommand, MakesATableThatGenerationKeepsTo) {
  const auto path = work_ / "lex.s2t";
  const auto made =
      shortlist({"--data", work_ / "pairs.tsv", "--output", path, "--iterations", "20"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.err.find("translations of 4 tokens from 6 pairs"), std::string::npos) << made.err;
  std::istringstream lines(test::contents(path));
  std::set<std::string> best;
  std::string last;
  double sum = 0;
  for (std::string target, source, probability; lines >> target >> source >> probability;) {
    if (source != last) {
      best.insert(source + target);
    }
    last = source;
    sum += std::stod(probability);
  }
  EXPECT_EQ(best, (std::set<std::string>{"ax", "by", "cz", "dw"}));
  EXPECT_NEAR(sum, 4, 1e-3);

  for (const std::string beams : {"1", "3"}) {
    const auto mapping = "{file: " + path + ", first: 0, best: 1}";
    const auto done =
        generate({"--prompt", "a d", "--prompt", "b", "--beams", beams, "--shortlist", mapping});
    ASSERT_EQ(done.status, 0) << done.err;
    const auto answers = test::json_lines<nlohmann::ordered_json>(done.out);
    ASSERT_EQ(answers.size(), 2U);
    const std::vector<std::set<std::string>> allowed = {{"a", "d", "x", "w"}, {"b", "y"}};
    for (std::size_t i = 0; i < 2; ++i) {
      std::istringstream words(answers[i].at("text").get<std::string>());
      for (std::string word; words >> word;) {
        EXPECT_TRUE(allowed[i].contains(word)) << word;
      }
    }
    // Eight words and the special tokens: the whole vocabulary.
    const auto whole = "{file: " + path + ", first: 8}";
    EXPECT_EQ(generate({"--prompt", "a d", "--beams", beams, "--shortlist", whole}).out,
              generate({"--prompt", "a d", "--beams", beams}).out);
  }
}

TEST_F(ShortlistCommand, OnlyTheBestAreWritten) {
  const auto made = shortlist({"--data", work_ / "pairs.tsv", "--best", "1"});
  ASSERT_EQ(made.status, 0) << made.err;
  std::istringstream text(made.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  EXPECT_EQ(lines.size(), 4U) << made.out;
  EXPECT_EQ(shortlist({"--data", work_ / "pairs.tsv", "--best", "1"}).out, made.out);
}

TEST_F(ShortlistCommand, ErrorsSayWhatIsAllowed) {
  const auto error_of = [](const test::ProcessResult& result) {
    EXPECT_EQ(result.status, 2);
    return result.err;
  };
  EXPECT_NE(error_of(shortlist({})).find("needs --data FILE"), std::string::npos);
  EXPECT_NE(error_of(shortlist({"--data", work_ / "none.tsv"})).find("none.tsv"),
            std::string::npos);
  test::write(work_ / "wrong.s2t", "x a 0.5\nx elephant 0.5\n");
  EXPECT_NE(error_of(generate({"--prompt", "a", "--shortlist", work_ / "wrong.s2t"}))
                .find("wrong.s2t:2: source 'elephant' is not one of the"),
            std::string::npos);
  test::write(work_ / "empty.s2t", "");
  EXPECT_NE(error_of(generate({"--prompt", "a", "--shortlist", work_ / "empty.s2t"}))
                .find("must have lines TARGET SOURCE PROBABILITY"),
            std::string::npos);
  const test::TinyDecoder decoder;
  EXPECT_NE(error_of(test::weft({"generate", decoder.path(), "--prompt", "a", "--shortlist",
                                 work_ / "wrong.s2t"}))
                .find("must be an encoder-decoder"),
            std::string::npos);
  EXPECT_NE(error_of(test::weft({"data", "--set", "a=b", "shortlist", "x"})).find("shortlist:"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::cli
