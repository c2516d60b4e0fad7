#include "metrics/metric.h"

#include <cmath>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "metrics/predictions.h"
#include "support/config.h"

namespace weft::metrics {
namespace {

ClassPredictions predictions_of(int64_t classes,
                                const std::vector<int64_t>& labels,
                                const std::vector<int64_t>& predicted) {
  ClassPredictions predictions(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    predictions.labels.push_back(labels[i]);
    predictions.predictions.push_back(predicted[i]);
    predictions.logits.emplace_back(static_cast<std::size_t>(classes));
    predictions.probabilities.emplace_back(static_cast<std::size_t>(classes));
    predictions.losses.push_back(0);
    predictions.counts.add(labels[i], predicted[i]);
  }
  return predictions;
}

TEST(MetricTable, EachNameStandsOnceAndWithoutPrefix) {
  std::set<std::string> names;
  for (const auto& metric : metric_table()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.name.starts_with("eval_") || metric.name.starts_with("test_"));
    EXPECT_EQ(find_metric(metric.name), &metric);
    EXPECT_EQ(find_metric("eval_" + metric.name), &metric);
    EXPECT_FALSE(metric.description.empty()) << metric.name;
  }
}

TEST(MetricTable, EachMetricIsInTheDocs) {
  const auto page = read_file(WEFT_SOURCE_DIR "/docs/metrics.md");
  for (const auto& metric : metric_table()) {
    EXPECT_NE(page.find("`" + metric.name + "`"), std::string::npos) << metric.name;
  }
}

TEST(MetricTable, KnowsWhatIsBetter) {
  for (const auto* name : {"eval_loss", "test_loss", "loss", "eval_word_perplexity", "eval_ece",
                           "eval_bits_per_byte", "eval_mae", "eval_next_sentence_loss"}) {
    EXPECT_FALSE(greater_is_better(name, "here")) << name;
  }
  for (const auto* name : {"eval_accuracy", "test_f1", "eval_bleu", "eval_spearmanr"}) {
    EXPECT_TRUE(greater_is_better(name, "here")) << name;
  }
}

TEST(MetricTable, AnUnknownNameGivesTheNearest) {
  const auto message =
      test::message_of<UserError>([] { greater_is_better("eval_acuracy", "train.best_by"); });
  EXPECT_TRUE(
      message.starts_with("train.best_by: unknown metric 'eval_acuracy', did you mean "
                          "'eval_accuracy'? allowed: eval_loss, "))
      << message;
}

TEST(MetricTable, SelectsNothingByACount) {
  for (const auto* name : {"eval_tokens", "eval_threshold", "words"}) {
    const auto message =
        test::message_of<UserError>([&] { greater_is_better(name, "train.best_by"); });
    EXPECT_TRUE(message.starts_with(std::string("train.best_by: '") + name +
                                    "' is neither better nor worse if it is greater, allowed: "
                                    "eval_loss, eval_accuracy, "))
        << message;
    EXPECT_EQ(message.find("eval_tokens,"), std::string::npos) << message;
  }
}

TEST(ClassMetrics, OfTwoClassesThePositiveOneIsScored) {
  auto predictions = predictions_of(2, {0, 1, 1, 1}, {0, 0, 1, 1});
  predictions.probabilities = {{0.9, 0.1}, {0.6, 0.4}, {0.3, 0.7}, {0.2, 0.8}};
  EXPECT_DOUBLE_EQ(class_recall(predictions), 2.0 / 3);
  EXPECT_DOUBLE_EQ(class_precision(predictions), 1);
  EXPECT_DOUBLE_EQ(class_average_precision(predictions), 1);
  predictions.positive = 0;
  EXPECT_DOUBLE_EQ(class_recall(predictions), 1);
  EXPECT_DOUBLE_EQ(class_precision(predictions), 0.5);
  EXPECT_DOUBLE_EQ(class_f1(predictions), 2.0 / 3);
  predictions.probabilities[1] = {0.95, 0.05};
  EXPECT_DOUBLE_EQ(class_average_precision(predictions), 0.5);
  EXPECT_DOUBLE_EQ(class_roc_auc(predictions), 2.0 / 3);
}

TEST(MetricTable, ARegisteredMetricIsComputedWithTheOthers) {
  register_metric({.name = "share_of_first",
                   .description = "fraction predicted as the first class",
                   .greater_is_better = false,
                   .of_classes = [](const ClassPredictions& predictions) {
                     return predictions.counts.predicted(0) /
                            static_cast<double>(predictions.labels.size());
                   }});
  EXPECT_EQ(compute_metrics(predictions_of(2, {0, 1, 1, 1}, {0, 0, 1, 0})).at("share_of_first"),
            0.75);
  EXPECT_FALSE(greater_is_better("eval_share_of_first", "here"));
  EXPECT_THROW(register_metric({.name = "share_of_first", .description = "again"}),
               std::invalid_argument);
  EXPECT_THROW(register_metric({.name = "eval_mine", .description = "with a prefix"}),
               std::invalid_argument);
}

TEST(MetricTable, SaysWhyAMetricIsUndefined) {
  const auto metrics = compute_metrics(predictions_of(2, {1, 1}, {0, 1}));
  EXPECT_EQ(undefined_reason("eval_roc_auc", metrics.at("roc_auc")),
            "it needs labels of at least two classes");
  EXPECT_EQ(undefined_reason("eval_roc_auc", 0.5), "");
  EXPECT_NE(undefined_reason("pearson", std::nan("")), "");
  EXPECT_EQ(undefined_reason("eval_unknown", std::nan("")), "");
}

TEST(BalancedAccuracy, IsTheMeanRecallOfTheClassesThatOccur) {
  // Recalls: class 0 3 of 4, class 1 1 of 2; class 2 is predicted but never right, class 3 is
  // absent.
  const auto predictions = predictions_of(4, {0, 0, 0, 0, 1, 1}, {0, 0, 0, 2, 1, 0});
  EXPECT_EQ(balanced_accuracy(predictions), (0.75 + 0.5) / 2);
  EXPECT_EQ(compute_metrics(predictions).at("balanced_accuracy"), 0.625);
  EXPECT_EQ(balanced_accuracy(predictions_of(3, {}, {})), 0);
}

}  // namespace
}  // namespace weft::metrics
