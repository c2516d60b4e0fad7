#include <algorithm>
#include <cmath>
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

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kRnn = "{type: seq2seq_rnn, dim: 8, recurrent: {width: 8}, dropout: 0}";
constexpr const char* kTransformer =
    "{preset: transformer-base, dim: 8, layers: 2, attention: {heads: 2}, feed_forward: {width: "
    "8}, "
    "position: {length: 32}}";

class Alignments : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto done = test::train_tiny_translator(work_, GetParam(),
                                                  "source\ttarget\na b c\tx y\nb c\ty z\nc\tz\n");
    ASSERT_EQ(done.status, 0) << done.err;
  }

  test::TemporaryDirectory work_;
};

TEST_P(Alignments, AreARowOfWeightsForEachNewToken) {
  for (const std::string beams : {"1", "3"}) {
    const auto done = test::weft({"generate", work_ / "run", "--prompt", "b c a", "--alignments",
                                  "--ids", "--max-new", "6", "--beams", beams, "--threads", "1"});
    ASSERT_EQ(done.status, 0) << done.err;
    const auto line = test::json_lines<OrderedJson>(done.out).at(0);
    const auto& alignment = line.at("alignment");
    EXPECT_EQ(alignment.at("source"), OrderedJson({"b", "c", "a", "</s>"}));
    const auto tokens = line.at("ids").size();
    ASSERT_EQ(alignment.at("target").size(), tokens);
    ASSERT_EQ(alignment.at("weights").size(), tokens);
    ASSERT_EQ(alignment.at("hard").size(), tokens);
    for (std::size_t i = 0; i < tokens; ++i) {
      const auto row = alignment["weights"][i].get<std::vector<double>>();
      ASSERT_EQ(row.size(), 4U);
      double sum = 0;
      for (const auto weight : row) {
        sum += weight;
        EXPECT_LE(weight, row.at(alignment["hard"][i].get<std::size_t>()));
      }
      EXPECT_NEAR(sum, 1, 1e-3);
    }
  }
}

TEST_P(Alignments, GiveTheCoveragePenalty) {
  const auto generated = [&](const std::string& penalty) {
    const auto done = test::weft({"generate", work_ / "run", "--prompt", "b c a", "--alignments",
                                  "--ids", "--max-new", "4", "--beams", "3", "--n-best", "3",
                                  "--coverage-penalty", penalty, "--threads", "1"});
    EXPECT_EQ(done.status, 0) << done.err;
    return test::json_lines<OrderedJson>(done.out);
  };
  const auto plain = generated("0");
  int64_t compared = 0;
  for (const auto& text : generated("0.5")) {
    double penalty = 0;
    const auto weights = text.at("alignment").at("weights").get<std::vector<std::vector<double>>>();
    for (std::size_t source = 0; source < 4; ++source) {
      double coverage = 0;
      for (const auto& row : weights) {
        coverage += row.at(source);
      }
      penalty += 0.5 * std::log(std::min(coverage, 1.0));
    }
    for (const auto& other : plain) {
      if (other.at("ids") == text.at("ids")) {
        EXPECT_NEAR(text.at("score").get<double>(), other.at("score").get<double>() + penalty,
                    1e-2);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Alignments, AreOnlyInJsonLines) {
  for (const std::string flag : {"--plain", "--stream"}) {
    const auto done =
        test::weft({"generate", work_ / "run", "--prompt", "a", "--alignments", flag});
    EXPECT_EQ(done.status, 2) << done.out;
    EXPECT_NE(done.err.find("--alignments"), std::string::npos) << done.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Alignments, ::testing::Values(kRnn, kTransformer));

TEST(AlignmentsOfADecoder, DoNotExist) {
  const test::TinyDecoder decoder;
  const auto done =
      test::weft({"generate", decoder.path(), "--prompt", "The", "--alignments", "--threads", "1"});
  EXPECT_EQ(done.status, 2) << done.out;
  EXPECT_NE(done.err.find("has no alignments, must be an encoder-decoder"), std::string::npos)
      << done.err;
}

}  // namespace
}  // namespace weft::cli
