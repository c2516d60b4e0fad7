#include "cli/predict/output_writer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/config.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using formats::Json;

/// What two answers give in a file of this name.
std::string written(const std::string& name) {
  const test::TemporaryDirectory work;
  AnswerWriter writer(work / name);
  writer.write({{"id", "a,1"}, {"label", "ham"}},
               {{"label", "spam"}, {"scores", {{"ham", 0.25}, {"spam", 0.75}}}});
  writer.write({{"id", "tab\there"}, {"label", "ham"}},
               {{"label", "ham"}, {"scores", {{"ham", 1.0}, {"spam", 0.0}}}});
  writer.commit();
  return test::contents(work / name);
}

TEST(AnswerWriter, PassesTheColumnsOfTheInputThrough) {
  EXPECT_EQ(written("a.csv"),
            "row,id,input_label,label,scores.ham,scores.spam\n"
            "1,\"a,1\",ham,spam,0.25,0.75\n"
            "2,tab\there,ham,ham,1.0,0.0\n");
  EXPECT_EQ(written("a.tsv"),
            "row\tid\tinput_label\tlabel\tscores.ham\tscores.spam\n"
            "1\ta,1\tham\tspam\t0.25\t0.75\n"
            "2\ttab here\tham\tham\t1.0\t0.0\n");
  EXPECT_EQ(written("a.jsonl").substr(0, 64),
            R"({"row":1,"id":"a,1","input_label":"ham","label":"spam","scores":)");
  // Other names get the answers only.
  EXPECT_EQ(written("a.out").substr(0, 16), R"({"label":"spam",)");
}

TEST(AnswerWriter, ColumnsDoNotDependOnTheFirstRow) {
  const test::TemporaryDirectory work;
  AnswerWriter writer(work / "a.csv");
  writer.write({{"row", 7}, {"label", "ham"}, {"input_label", "x"}}, {{"label", "ham"}});
  writer.write({{"row", 8}, {"label", "ham"}, {"input_label", "y"}}, {{"label", "spam"}});
  writer.commit();
  EXPECT_EQ(test::contents(work / "a.csv"),
            "row,input_row,input_input_label,input_label,label\n"
            "1,7,ham,x,ham\n"
            "2,8,ham,y,spam\n");
}

TEST(AnswerWriter, QuotesInTablesAreDoubled) {
  const test::TemporaryDirectory work;
  AnswerWriter writer(work / "a.csv");
  writer.write({{"text", "say \"hi\"\nnow"}}, {{"labels", {"a", "b"}}});
  writer.commit();
  EXPECT_EQ(test::contents(work / "a.csv"),
            "row,text,labels\n1,\"say \"\"hi\"\"\nnow\",\"[\"\"a\"\",\"\"b\"\"]\"\n");
  for (const std::string ending : {".gz", ".zst", ".parquet"}) {
    EXPECT_NE(test::message_of<UserError>([&] {
                AnswerWriter(work / "a.csv" + ending);
              }).find("omit " + ending),
              std::string::npos);
    EXPECT_THROW(OutputWriter(work / "a.jsonl" + ending), UserError);
  }
}

// Scores of an earlier model must not stand in the place of those of this one.
TEST(AnswerWriter, KeepsTheAnswersInItsInput) {
  const test::TemporaryDirectory work;
  AnswerWriter writer(work / "a.csv");
  writer.write({{"text", "hi"}, {"scores.ham", "0.9"}, {"scores", "old"}},
               {{"label", "ham"}, {"scores", {{"ham", 0.25}, {"spam", 0.75}}}});
  writer.commit();
  EXPECT_EQ(test::contents(work / "a.csv"),
            "row,text,input_scores.ham,input_scores,label,scores.ham,scores.spam\n"
            "1,hi,0.9,old,ham,0.25,0.75\n");
}

}  // namespace
}  // namespace weft::cli
