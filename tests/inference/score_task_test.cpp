#include "inference/score_task.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/config.h"

namespace weft::inference {
namespace {

ScoreTask task_of(const std::string& yaml) {
  const auto document = config::Document::parse(yaml, "task.yaml");
  auto section = document.root();
  return ScoreTask::read(section);
}

std::string error_of(const std::string& yaml) {
  return test::message_of<config::Error>([&] { task_of(yaml); });
}

TEST(ScoreTask, FillsTemplates) {
  const auto task = task_of(
      "words: ['question:cause=because', 'question:effect=therefore']\n"
      "context: '{premise|strip|without_end} {question}'\n"
      "choices: ['{choice0|lower_first}', '{{{choice1|upper_first}}}']\n"
      "label: label\n");
  EXPECT_EQ(task.columns(),
            (std::vector<std::string>{"premise", "question", "choice0", "choice1", "label"}));
  const auto item = task.item({" It rained. ", "cause", "\xC3\x89t\xC3\xA9", "so", "1"});
  EXPECT_EQ(item.context, "It rained because");
  EXPECT_EQ(item.choices, (std::vector<std::string>{"\xC3\xA9t\xC3\xA9", "{So}"}));
  EXPECT_EQ(item.label, 1);
  EXPECT_EQ(continuation_of(item, item.choices[0]), " \xC3\xA9t\xC3\xA9");
  EXPECT_EQ(test::message_of<UserError>([&] {
              task.item({"a", "cause", "b", "c", "2"});
            }),
            "label '2' is not a number from 0 to 1");
}

TEST(ScoreTask, LabelsMayBeNames) {
  const auto task = task_of(
      "{context: '{a}', choices: ['True', 'False'], label: gold, labels: [yes, no], delimiter: "
      "''}");
  EXPECT_EQ(task.item({"x", "no"}).label, 1);
  EXPECT_EQ(continuation_of(task.item({"x", "no"}), "True"), "True");
  EXPECT_EQ(test::message_of<UserError>([&] {
              task.item({"x", "nay"});
            }),
            "label 'nay' is not one of yes, no");
}

TEST(ScoreTask, ContinuationsAndTexts) {
  const auto task = task_of("{context: '{a}', continuation: '{b}'}");
  EXPECT_TRUE(task.is_continuation());
  EXPECT_EQ(task.item({"x", "y"}).choices, std::vector<std::string>{"y"});
  EXPECT_EQ(task_of("{text: '{a}!'}").item({"x"}).text, "x!");
}

TEST(ScoreTask, RefusesWithThePlace) {
  EXPECT_NE(
      error_of("{context: '{a', choices: ['b']}").find("context: '{a' has an opening { without }"),
      std::string::npos);
  EXPECT_NE(error_of("{choices: ['{a|lower}']}").find("'lower' is not one of strip, without_end"),
            std::string::npos);
  EXPECT_NE(error_of("{context: 'a'}").find("one of choices, continuation, text"),
            std::string::npos);
  EXPECT_NE(error_of("{choices: ['a'], text: 'b'}").find("one of choices"), std::string::npos);
  EXPECT_NE(error_of("{choices: ['a', 'b'], labels: [x]}").find("1 values for 2 choices"),
            std::string::npos);
  EXPECT_NE(error_of("{choices: ['a'], words: [b]}").find("column:value=word"), std::string::npos);
  EXPECT_NE(error_of("{choice: ['a']}").find("choice"), std::string::npos);
}

TEST(ScoreItem, SpaceIsInsertedBetweenWordsUnlessPresent) {
  EXPECT_EQ(continuation_of({.context = "a", .choices = {}}, "b"), " b");
  EXPECT_EQ(continuation_of({.context = "a ", .choices = {}}, "b"), "b");
  EXPECT_EQ(continuation_of({.context = "a", .choices = {}}, " b"), " b");
  EXPECT_EQ(continuation_of({.context = "", .choices = {}}, "b"), "b");
}

}  // namespace
}  // namespace weft::inference
