#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "data/row_selection.h"
#include "support/config.h"
#include "train/run/train.h"
#include "train/small_run.h"
#include "train/step/evaluate_directory.h"

namespace weft::train {
namespace {

const std::vector<std::string> kSplit = {"data.evaluate=[]", "data.split={evaluate: 0.2, test: 7}",
                                         "train.evaluate_every=4 steps"};

class SplitRunTest : public ::testing::Test {
 protected:
  RunConfig config(const std::string& directory, const std::vector<std::string>& more = {}) const {
    auto overrides = kSplit;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return small_.config("classify", directory, overrides);
  }

  std::string log_of(const RunConfig& config, const TrainRequest& request = {}) const {
    const test::CapturedStderr captured;
    run_training(config, request);
    return small_.file("run/train.log");
  }

  DirectoryEvaluation evaluated(const std::string& model, data::SplitPart part) const {
    return run_evaluation_on_directory(small_.path(model), {}, {.split = part});
  }

  static std::set<std::string> locations(const DirectoryEvaluation& done) {
    std::set<std::string> found;
    for (int64_t i = 0; i < done.dataset->size(0); ++i) {
      found.insert(done.dataset->location(0, i));
    }
    return found;
  }

  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  test::SmallRun small_;
};

TEST_F(SplitRunTest, TestRowsAreThoseThatTheRunRecorded) {
  const auto words = log_of(config("run"));
  EXPECT_TRUE(
      contains(words, "[data] split with seed 7: 25 rows to train, 8 to evaluate, 7 to test"))
      << words;
  EXPECT_FALSE(contains(words, "nothing will be evaluated"));
  const auto record = data::read_split_record(small_.path("run"));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->files[0].rows, 40);

  std::set<std::string> all;
  for (const auto part :
       {data::SplitPart::kTrain, data::SplitPart::kEvaluate, data::SplitPart::kTest}) {
    const auto found = locations(evaluated("run", part));
    all.insert(found.begin(), found.end());
    if (part == data::SplitPart::kTest) {
      std::set<std::string> recorded;
      for (const auto row : record->files[0].test) {
        recorded.insert(small_.path("train.tsv") + ", row " + std::to_string(row + 1));
      }
      EXPECT_EQ(found, recorded);
    }
  }
  EXPECT_EQ(all.size(), 40U);
  // The last evaluation of the run saw the same rows.
  EXPECT_DOUBLE_EQ(
      evaluated("run/last", data::SplitPart::kEvaluate).evaluation->result().at("eval_loss"),
      small_.values("run", "eval/loss").rbegin()->second);
}

TEST_F(SplitRunTest, ACheckpointKnowsItsRowsWithoutTheRun) {
  log_of(config("run"));
  std::filesystem::rename(small_.path("run/checkpoint-8"), small_.path("moved"));
  std::filesystem::remove_all(small_.path("run"));
  EXPECT_EQ(locations(evaluated("moved", data::SplitPart::kTest)).size(), 7U);
}

TEST_F(SplitRunTest, RefusesWhatWasNotRecordedOrHasChanged) {
  const auto message = [&](const std::string& model, data::SplitPart part) {
    return test::message_of<UserError>([&] { evaluated(model, part); });
  };
  log_of(config("run", {"data.split={test: 7}"}));
  EXPECT_TRUE(contains(message("run", data::SplitPart::kEvaluate),
                       "split.json: the split has no rows in this part; name files with --data"));
  small_.folder().write("train.tsv", small_.file("train.tsv") + "one more\tyes\n");
  EXPECT_TRUE(contains(message("run", data::SplitPart::kTest),
                       "train.tsv: has changed since the run split its rows"));
  log_of(small_.config("classify", "run"), {.resume = Resume::kNever});
  EXPECT_FALSE(std::filesystem::exists(small_.path("run/split.json")));
  EXPECT_TRUE(contains(message("run", data::SplitPart::kTest), "no recorded split"));
}

TEST_F(SplitRunTest, ResumesWithTheRecordedRows) {
  {
    const test::CapturedStderr captured;
    ASSERT_TRUE(test::train_until(config("run"), 4));
  }
  // What a newer version of the program would draw does not matter.
  auto record = *data::read_split_record(small_.path("run/last"));
  const auto drawn = record.files[0].test;
  EXPECT_TRUE(contains(log_of(config("run")), "split as recorded: 25 rows to train"));
  EXPECT_EQ(data::read_split_record(small_.path("run"))->files[0].test, drawn);
}

TEST_F(SplitRunTest, ChangedDataAreSplitAnewOnlyIfAllowed) {
  {
    const test::CapturedStderr captured;
    ASSERT_TRUE(test::train_until(config("run"), 4));
  }
  small_.folder().write("train.tsv", small_.file("train.tsv") + "some green hill\tyes\n");
  EXPECT_TRUE(contains(test::message_of<UserError>([&] { run_training(config("run"), {}); }),
                       "has changed since the run split its rows"));
  const auto words = log_of(config("run"), {.allows_changed_data = true});
  EXPECT_TRUE(contains(words, "the rows are split anew")) << words;
  EXPECT_TRUE(contains(words, "split with seed 7: 26 rows to train")) << words;
}

TEST_F(SplitRunTest, SaysThatNothingWillBeEvaluated) {
  const auto words = log_of(config("run", {"data.split={test: 7}"}));
  EXPECT_TRUE(contains(words,
                       "[data] nothing will be evaluated: set data.evaluate to files, or "
                       "data.split.evaluate to a part of the training rows"))
      << words;
  const auto never = log_of(config("run", {"data.split={}", "train.evaluate_every=never"}),
                            {.resume = Resume::kNever});
  EXPECT_FALSE(contains(never, "nothing will be evaluated"));
}

}  // namespace
}  // namespace weft::train
