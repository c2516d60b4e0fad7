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
}

TEST(DecisionThreshold, NoDecisionWritesNoFile) {
  const test::Folder folder;
  write_decision_threshold(folder.path(), {});
  EXPECT_FALSE(std::filesystem::exists(folder.path("weft_task.json")));
  EXPECT_FALSE(read_decision_threshold(folder.path()).threshold);
}

TEST(DecisionThreshold, RefusesWhatIsNoProbability) {
  const test::Folder folder;
  for (const auto* content : {"{\"threshold\": 2}", "{\"threshold\": \"x\"}", "{}", "[]"}) {
    folder.write("weft_task.json", content);
    EXPECT_THROW(read_decision_threshold(folder.path()), formats::Error) << content;
  }
}

}  // namespace
}  // namespace weft::objectives
