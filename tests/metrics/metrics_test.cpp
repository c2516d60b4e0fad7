#include "metrics/metrics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "formats/json.h"
#include "metrics/confusion_counts.h"

namespace weft::metrics {
namespace {

using Numbers = std::vector<int64_t>;

/// Of two classes the second, of more the mean of those that occur.
ClassScores class_scores(const Numbers& labels, const Numbers& found, int64_t classes) {
  ConfusionCounts counts(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    counts.add(labels[i], found[i]);
  }
  return classes == 2 ? counts.class_scores(1) : counts.macro_over_present();
}

TEST(Metrics, BinaryScoresAreThoseOfTheSecondClass) {
  // Class 1: found three times, twice rightly; wanted four times.
  const Numbers labels = {1, 1, 1, 1, 0, 0};
  const Numbers found = {1, 1, 0, 0, 1, 0};
  EXPECT_DOUBLE_EQ(accuracy(labels, found), 0.5);
  const auto scores = class_scores(labels, found, 2);
  EXPECT_DOUBLE_EQ(scores.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(scores.recall, 0.5);
  EXPECT_DOUBLE_EQ(scores.f1, 4.0 / 7);
  // (2 * 1 - 1 * 2) / sqrt(3 * 4 * 2 * 3) = 0
  EXPECT_DOUBLE_EQ(matthews_correlation(labels, found, 2), 0);
}

TEST(Metrics, MoreClassesAreAveragedOverThoseThatOccur) {
  // Class 0: f1 1; class 2: wanted once, found never, 0; class 3: found once, never wanted, 0;
  // class 1 does not occur.
  EXPECT_DOUBLE_EQ(class_scores({0, 0, 2}, {0, 0, 3}, 4).f1, 1.0 / 3);
}

TEST(Metrics, MatthewsIsOneMinusOneOrZero) {
  EXPECT_DOUBLE_EQ(matthews_correlation({0, 1, 0, 1}, {0, 1, 0, 1}, 2), 1);
  EXPECT_DOUBLE_EQ(matthews_correlation({0, 1, 0, 1}, {1, 0, 1, 0}, 2), -1);
  EXPECT_DOUBLE_EQ(matthews_correlation({0, 1, 0, 1}, {1, 1, 1, 1}, 2), 0);
}

TEST(Metrics, PearsonIsOfValuesSpearmanOfRanks) {
  EXPECT_DOUBLE_EQ(pearson({1, 2, 3}, {2, 4, 6}), 1);
  EXPECT_LT(pearson({1, 2, 3}, {1, 10, 1000}), 1);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {1, 10, 1000}), 1);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {1, 1, 2, 2}),
                   2.0 / std::sqrt(5.0));  // ranks 1.5 1.5 3.5 3.5
  EXPECT_TRUE(std::isnan(pearson({1, 1, 1}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(pearson({1}, {1})));
}

TEST(Metrics, EmptyInputGivesZero) {
  EXPECT_EQ(accuracy({}, {}), 0);
  EXPECT_EQ(class_scores({}, {}, 3).f1, 0);
  EXPECT_EQ(matthews_correlation({}, {}, 2), 0);
}

// Written by scripts/make_metrics_reference.py.
TEST(Metrics, MatchScikitLearn) {
  const auto cases = formats::read_json(str_cat(WEFT_SOURCE_DIR, "/tests/reference/metrics.json"));
  for (const auto& item : cases["classes"]) {
    const auto labels = item["labels"].get<Numbers>();
    const auto found = item["predictions"].get<Numbers>();
    const auto classes = item["classes"].get<int64_t>();
    const auto scores = class_scores(labels, found, classes);
    EXPECT_NEAR(accuracy(labels, found), item["accuracy"].get<double>(), 1e-12);
    EXPECT_NEAR(scores.precision, item["precision"].get<double>(), 1e-12);
    EXPECT_NEAR(scores.recall, item["recall"].get<double>(), 1e-12);
    EXPECT_NEAR(scores.f1, item["f1"].get<double>(), 1e-12);
    EXPECT_NEAR(matthews_correlation(labels, found, classes),
                item["matthews_correlation"].get<double>(), 1e-12);
  }
  for (const auto& item : cases["values"]) {
    const auto x = item["x"].get<std::vector<double>>();
    const auto y = item["y"].get<std::vector<double>>();
    EXPECT_NEAR(pearson(x, y), item["pearson"].get<double>(), 1e-12);
    EXPECT_NEAR(spearman(x, y), item["spearmanr"].get<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace weft::metrics
