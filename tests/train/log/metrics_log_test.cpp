#include "train/log/metrics_log.h"

#include <cmath>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::train {
namespace {

class MetricsLogTest : public ::testing::Test {
 protected:
  void write(int64_t begin, int64_t from, int64_t to) const {
    MetricsLog log(folder_.path(), begin);
    for (int64_t step = from; step <= to; ++step) {
      log.write(step, {{"train/loss", 1.0 / static_cast<double>(step)}});
    }
  }
  std::string lines() const { return test::Folder::read(folder_.path("metrics.jsonl")); }
  test::Folder folder_;
};

TEST_F(MetricsLogTest, NumbersReadBackExactly) {
  write(0, 3, 3);
  EXPECT_EQ(lines(), "{\"step\":3,\"train/loss\":0.3333333333333333}\n");
}

TEST_F(MetricsLogTest, ResumesAfterTheCheckpointAsIfNothingHadHappened) {
  write(0, 1, 6);
  const auto undisturbed = lines();
  write(4, 5, 6);
  EXPECT_EQ(lines(), undisturbed);
}

TEST_F(MetricsLogTest, RemovesAPartialLine) {
  write(0, 1, 2);
  const auto whole = lines();
  folder_.write("metrics.jsonl", whole + "{\"step\":3,\"tr");
  write(9, 1, 0);
  EXPECT_EQ(lines(), whole);
}

// The pending evaluation is repeated: neither file may contain it twice.
TEST_F(MetricsLogTest, PendingEvaluationIsOnceInBothFiles) {
  const auto evaluate = [&](int64_t begin, bool owes) {
    MetricsLog log(folder_.path(), begin, owes);
    log.write(2, {{"eval/loss", 0.25}, {"eval/accuracy", 0.5}});
  };
  write(0, 1, 2);
  evaluate(2, false);
  const auto undisturbed = lines();
  evaluate(2, true);
  EXPECT_EQ(lines(), undisturbed);
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().filename().string().starts_with("events")) {
      events = test::Folder::read(entry.path().string());
    }
  }
  const auto count = [&](const std::string& tag) {
    int found = 0;
    for (auto at = events.find(tag); at != std::string::npos; at = events.find(tag, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("eval/loss"), 1);
  EXPECT_EQ(count("eval/accuracy"), 1);
  EXPECT_EQ(count("train/loss"), 2);
}

TEST_F(MetricsLogTest, SkipsNonFiniteValues) {
  MetricsLog(folder_.path(), 0).write(1, {{"train/loss", std::nan("")}, {"train/epoch", 0.5}});
  EXPECT_EQ(lines(), "{\"step\":1,\"train/epoch\":0.5}\n");
}

}  // namespace
}  // namespace weft::train
