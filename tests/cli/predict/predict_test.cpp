#include <gtest/gtest.h>

#include "cli/pair_runs.h"
#include "formats/json.h"
#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using formats::Json;

test::ProcessResult predicted(const std::vector<std::string>& more, const std::string& input = "") {
  std::vector<std::string> command = {"predict", test::pair_runs().model()};
  command.insert(command.end(), more.begin(), more.end());
  return test::weft(command, input);
}

/// Runs a shell script with the program as $W and the model as $M.
test::ProcessResult shell(const std::string& script) {
  return test::run(
      {"/bin/bash", "-c", "W='" WEFT_BINARY "'; M='" + test::pair_runs().model() + "'; " + script});
}

TEST(PredictInput, TextsOfTheCommandLinePlainLinesAndJsonGiveTheSame) {
  const auto given = predicted({"fine film", "--text", "poor song"});
  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(test::json_lines<Json>(given.out).size(), 2U);
  EXPECT_EQ(predicted({"--plain"}, "fine film\npoor song\n").out, given.out);
  EXPECT_EQ(predicted({}, "{\"text\": \"fine film\"}\n{\"text\": \"poor song\"}\n").out, given.out);
  const auto both = predicted({"fine film", "--input", "a.jsonl"});
  EXPECT_EQ(both.err,
            "error: weft predict: --input and texts on the command line are mutually exclusive\n");
}

TEST(PredictInput, PlainLinesWithoutTheOptionAreExplained) {
  const auto done = predicted({}, "fine film\n");
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("standard input:1: not a JSON object"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("--plain"), std::string::npos) << done.err;
}

TEST(PredictInput, AMissingSecondTextIsReported) {
  EXPECT_NE(predicted({"fine film"}).err.find("the model was trained on pairs"), std::string::npos);
  EXPECT_EQ(predicted({}, "{\"text\": \"fine film\", \"text_pair\": \"play\"}\n").err.find("pairs"),
            std::string::npos);
}

TEST(PredictInput, AColumnThatCannotBeReadIsNotPassedOn) {
  const auto done = predicted({"--input", WEFT_SOURCE_DIR "/tests/reference/parquet/priced.parquet",
                               "--output", test::pair_runs().path("priced.csv")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("not passed on: "), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("column 'price': decimal numbers"), std::string::npos) << done.err;
  EXPECT_TRUE(test::contents(test::pair_runs().path("priced.csv"))
                  .starts_with("row,Text,label,score,scores.bad,scores.good\n1,fine film,"));
}

TEST(PredictOutput, ATableHasRowNumberAndColumnsOfTheInput) {
  test::write(test::pair_runs().path("ask.csv"),
              "id,text,text_pair\nx7,fine film,play\nx8,poor film,play\n");
  const auto done = predicted({"--input", test::pair_runs().path("ask.csv"), "--output",
                               test::pair_runs().path("out.tsv")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto table = test::contents(test::pair_runs().path("out.tsv"));
  EXPECT_TRUE(
      table.starts_with("row\tid\ttext\ttext_pair\tlabel\tscore\tscores.bad\tscores.good\n"
                        "1\tx7\tfine film\tplay\t"))
      << table;
}

TEST(PredictOutput, ALineFromAPipeIsAnsweredAtOnce) {
  // The second line is only written when the answer to the first is there.
  const auto done = shell(
      "cd \"$(dirname \"$M\")\"; { echo '{\"text\": \"fine film\"}'; "
      "for i in $(seq 300); do [ -s answers ] && break; sleep 0.1; done; "
      "[ -s answers ] && echo '{\"text\": \"poor film\"}'; } | \"$W\" predict \"$M\" > answers; "
      "wc -l < answers");
  EXPECT_EQ(done.out, "2\n") << done.err;
}

TEST(PredictOutput, AClosedPipeEndsQuietly) {
  const auto done = shell(
      "for i in $(seq 20000); do echo fine film; done | \"$W\" predict \"$M\" "
      "--plain | head -1 > /dev/null; echo \"${PIPESTATUS[1]}\"");
  EXPECT_EQ(done.out, "141\n");
  EXPECT_EQ(done.err, "");
}

}  // namespace
}  // namespace weft::cli
