#include "objectives/evaluation/decision_threshold.h"

#include <gtest/gtest.h>

#include "formats/error.h"
#include "support/folder.h"

namespace weft::objectives {
namespace {

TEST(DecisionThreshold, ReadsBackWhatWasWritten) {
  const test::Folder folder;
  write_decision_threshold(folder.path(), {.threshold = 0.1 + 0.2, .tuned_by = "f1"});
  const auto read = read_decision_threshold(folder.path());
  EXPECT_EQ(read.threshold, 0.1 + 0.2);
  EXPECT_EQ(read.tuned_by, "f1");
  EXPECT_EQ(read.positive_label, "");
  write_decision_threshold(folder.path(), {.positive_label = "spam"});
  EXPECT_EQ(read_decision_threshold(folder.path()).positive_label, "spam");
  EXPECT_FALSE(read_decision_threshold(folder.path()).threshold);
}

TEST(DecisionThreshold, IsForThePositiveClass) {
  const std::vector<std::string> labels = {"ham", "spam"};
  const DecisionThreshold second{.threshold = 0.3};
  EXPECT_EQ(second.positive_class(labels), 1);
  EXPECT_EQ(second.predicted_class({0.6, 0.4}, labels), 1);
  EXPECT_EQ(second.predicted_class({0.8, 0.2}, labels), 0);
  const DecisionThreshold first{.threshold = 0.3, .positive_label = "ham"};
  EXPECT_EQ(first.positive_class(labels), 0);
  EXPECT_EQ(first.predicted_class({0.4, 0.6}, labels), 0);
  EXPECT_EQ(first.predicted_class({0.2, 0.8}, labels), 1);
  const DecisionThreshold none{.positive_label = "ham"};
  EXPECT_EQ(none.predicted_class({0.4, 0.6}, labels), 1);
  EXPECT_EQ(second.predicted_class({0.2, 0.4, 0.4}, {"a", "b", "c"}), 1);
}

TEST(DecisionThreshold, NoDecisionWritesNoFile) {
  const test::Folder folder;
  write_decision_threshold(folder.path(), {});
  EXPECT_FALSE(std::filesystem::exists(folder.path("weft_task.json")));
  EXPECT_FALSE(read_decision_threshold(folder.path()).threshold);
}

TEST(DecisionThreshold, RefusesWhatIsNoProbability) {
  const test::Folder folder;
  for (const auto* content : {"{\"threshold\": 2}", "{\"threshold\": \"x\"}", "[]"}) {
    folder.write("weft_task.json", content);
    EXPECT_THROW(read_decision_threshold(folder.path()), formats::Error) << content;
  }
}

}  // namespace
}  // namespace weft::objectives
