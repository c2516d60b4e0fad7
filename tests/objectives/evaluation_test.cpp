#include <cmath>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "batches.h"
#include "batching/device_batch.h"
#include "fixed_model.h"
#include "formats/json.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/objectives.h"
#include "support/config.h"

namespace weft::objectives {
namespace {

using formats::Json;
using Logits = std::vector<std::vector<float>>;

std::vector<std::string> names(int64_t count) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(str_cat("class ", i));
  }
  return list;
}

test::FixedModel model_of(const Logits& logits) {
  models::ModelOptions options;
  options.head = models::Head::kSequence;
  options.labels = names(static_cast<int64_t>(logits.front().size()));
  return {options, logits};
}

/// The rows in two batches, the second half first.
void show(Evaluation& evaluation,
          const Logits& logits,
          const std::function<void(std::size_t, data::Example&)>& set_target) {
  auto model = model_of(logits);
  const auto half = logits.size() / 2;
  for (const auto& [begin, end] :
       {std::pair{half, logits.size()}, std::pair{std::size_t{0}, half}}) {
    data::Batch batch;
    for (auto row = begin; row < end; ++row) {
      data::Example example;
      example.ids = {static_cast<int64_t>(row)};
      set_target(row, example);
      batch.add(static_cast<int64_t>(row), example);
    }
    if (batch.sequences() > 0) {
      evaluation.add(model, batch, batching::to_device(batch, at::kCPU).context);
    }
  }
}

std::unique_ptr<Evaluation> class_evaluation(const Logits& logits,
                                             const std::vector<int64_t>& labels,
                                             const ClassOptions& options = {}) {
  auto evaluation = make_class_evaluation(options);
  show(*evaluation, logits,
       [&](std::size_t row, data::Example& example) { example.label = labels[row]; });
  return evaluation;
}

std::unique_ptr<Evaluation> multi_label_evaluation(const Logits& logits,
                                                   const std::vector<std::vector<double>>& wanted,
                                                   const ClassOptions& options = {}) {
  auto evaluation = make_multi_label_evaluation(options);
  show(*evaluation, logits,
       [&](std::size_t row, data::Example& example) { example.values = wanted[row]; });
  return evaluation;
}

Json evaluation_reference() {
  return formats::read_json(str_cat(WEFT_SOURCE_DIR, "/tests/reference/metrics.json"));
}

void expect_metrics(const std::map<std::string, double>& found,
                    const Json& wanted,
                    const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    EXPECT_NEAR(found.at("eval_" + (key == "calibration_error" ? "ece" : key)),
                wanted.at(key).get<double>(), 1e-9)
        << key;
  }
}

void expect_per_class(const Json& found, const Json& wanted, int64_t classes) {
  const std::vector<std::string> keys = {"precision", "recall", "f1", "support"};
  for (int64_t name = 0; name < classes; ++name) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_NEAR(found.at(str_cat("class ", name)).at(keys[i]).get<double>(),
                  wanted[i][static_cast<std::size_t>(name)].get<double>(), 1e-9)
          << keys[i] << " of " << name;
    }
  }
}

TEST(ClassEvaluation, ThePositiveClassIsScoredAndItsThresholdTuned) {
  const Logits logits = {{1, 0}, {0, 1}, {0, 2}, {0, 3}};
  const std::vector<int64_t> labels = {0, 0, 1, 1};
  const auto second = class_evaluation(logits, labels);
  EXPECT_EQ(second->details()["positive_label"], "class 1");
  EXPECT_NEAR(second->result().at("eval_recall"), 1, 1e-9);
  const auto first = class_evaluation(
      logits, labels,
      {.positive_label = "class 0", .tune_threshold = metrics::ThresholdMetric::kF1});
  EXPECT_EQ(first->details()["positive_label"], "class 0");
  EXPECT_NEAR(first->result().at("eval_f1"), 1, 1e-9);
  // Halfway between softmax(0, 1)[0] = 0.2689 and softmax(0, 2)[0] = 0.1192.
  EXPECT_NEAR(first->result().at("eval_threshold"), 0.19407, 1e-4);
  const auto given =
      class_evaluation(logits, labels, {.positive_label = "class 0", .threshold = 0.3});
  EXPECT_NEAR(given->result().at("eval_recall"), 0.5, 1e-9);
  EXPECT_FALSE(class_evaluation({{1, 0, 0}}, {0})->details().contains("positive_label"));
}

// Written by scripts/make_metrics_reference.py.
TEST(ClassEvaluation, MetricsMatchScikitLearn) {
  for (const auto& item : evaluation_reference()["scores"]) {
    const auto classes = item["classes"].get<int64_t>();
    const auto evaluation =
        class_evaluation(item["logits"].get<Logits>(), item["labels"].get<std::vector<int64_t>>());
    const auto found = evaluation->result();
    expect_metrics(found, item,
                   {"accuracy", "matthews_correlation", "roc_auc", "average_precision",
                    "brier_score", "calibration_error"});
    EXPECT_NEAR(found.at("eval_loss"), item["log_loss"].get<double>(), 1e-9);
    EXPECT_NEAR(found.at("eval_f1_macro"), item["macro"]["f1"].get<double>(), 1e-9);
    EXPECT_NEAR(found.at("eval_f1_weighted"), item["weighted"]["f1"].get<double>(), 1e-9);
    const auto* average = "macro";
    for (const auto* key : {"precision", "recall", "f1"}) {
      const auto wanted = classes == 2 ? item["per_class"][key[0] == 'p'   ? 0
                                                           : key[0] == 'r' ? 1
                                                                           : 2][1]
                                       : item[average][key];
      EXPECT_NEAR(found.at(str_cat("eval_", key)), wanted.get<double>(), 1e-9) << key;
    }
    const auto details = evaluation->details();
    expect_per_class(details["per_class"], item["per_class"], classes);
    EXPECT_EQ(details["confusion_matrix"], item["confusion_matrix"]);
    EXPECT_EQ(details["labels"], Json(names(classes)));
    EXPECT_EQ(found.contains("eval_combined_score"), classes == 2);
  }
}

TEST(MultiLabelEvaluation, MetricsMatchScikitLearn) {
  for (const auto& item : evaluation_reference()["flags"]) {
    const auto logits = item["logits"].get<Logits>();
    const auto wanted = item["wanted"].get<std::vector<std::vector<double>>>();
    const auto evaluation = multi_label_evaluation(logits, wanted);
    const auto found = evaluation->result();
    expect_metrics(found, item,
                   {"accuracy", "hamming_loss", "roc_auc", "average_precision", "brier_score",
                    "calibration_error"});
    EXPECT_NEAR(found.at("eval_loss"), item["log_loss"].get<double>(), 1e-9);
    EXPECT_NEAR(found.at("eval_f1_macro"), item["macro"]["f1"].get<double>(), 1e-9);
    EXPECT_NEAR(found.at("eval_f1_weighted"), item["weighted"]["f1"].get<double>(), 1e-9);
    expect_metrics({{"eval_precision", found.at("eval_precision")},
                    {"eval_recall", found.at("eval_recall")},
                    {"eval_f1", found.at("eval_f1")}},
                   item["micro"], {"precision", "recall", "f1"});
    const auto details = evaluation->details();
    expect_per_class(details["per_class"], item["per_class"], item["classes"].get<int64_t>());
    for (int64_t name = 0; name < item["classes"].get<int64_t>(); ++name) {
      EXPECT_EQ(details["confusion_matrix"][str_cat("class ", name)],
                item["confusion_matrix"][static_cast<std::size_t>(name)]);
    }
    const auto tuned =
        multi_label_evaluation(
            logits, wanted, {.multi_label = true, .tune_threshold = metrics::ThresholdMetric::kF1})
            ->result();
    EXPECT_NEAR(tuned.at("eval_f1"), item["best_f1"].get<double>(), 1e-9);
  }
}

TEST(ClassEvaluation, AThresholdDecidesBetweenTwo) {
  // Probabilities of class 1: 0.731, 0.269, 0.5 (a tie goes to the first).
  const Logits logits = {{0, 1}, {1, 0}, {0, 0}};
  EXPECT_EQ(class_evaluation(logits, {1, 0, 0})->result().at("eval_accuracy"), 1);
  EXPECT_EQ(class_evaluation(logits, {1, 0, 1}, {.threshold = 0.5})->result().at("eval_accuracy"),
            1);
  EXPECT_EQ(class_evaluation(logits, {1, 1, 1}, {.threshold = 0.2})->result().at("eval_accuracy"),
            1);
  EXPECT_EQ(class_evaluation(logits, {0, 0, 0}, {.threshold = 0.9})->result().at("eval_accuracy"),
            1);
}

TEST(ClassEvaluation, TuningFindsAndReportsTheThreshold) {
  const Logits logits = {{2, 0}, {1, 0}, {0.5F, 0}, {0, 3}};
  const auto metrics =
      class_evaluation(logits, {0, 1, 1, 1}, {.tune_threshold = metrics::ThresholdMetric::kF1})
          ->result();
  EXPECT_EQ(metrics.at("eval_f1"), 1);
  const double lower = 1 / (1 + std::exp(2.0));
  const double upper = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(metrics.at("eval_threshold"), (lower + upper) / 2, 1e-9);
  EXPECT_FALSE(class_evaluation(logits, {0, 1, 1, 1})->result().contains("eval_threshold"));
}

TEST(ClassEvaluation, TheWorstComeFirstWithTheirFacts) {
  const auto evaluation = class_evaluation({{0, 0.1F}, {5, 0}, {2, 0}, {0, 3}}, {0, 1, 0, 1});
  const auto worst = evaluation->hardest_examples(2).value();
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].item, 1);
  EXPECT_NEAR(worst[0].loss, std::log1p(std::exp(5.0)), 1e-6);
  EXPECT_EQ(worst[0].fields["label"], "class 1");
  EXPECT_EQ(worst[0].fields["prediction"], "class 0");
  EXPECT_EQ(worst[0].fields["is_right"], false);
  EXPECT_NEAR(worst[0].fields["scores"]["class 0"].get<double>(), 1 / (1 + std::exp(-5.0)), 1e-6);
  EXPECT_EQ(worst[0].fields["score"], worst[0].fields["scores"]["class 0"]);
  EXPECT_EQ(worst[1].item, 0);
}

TEST(MultiLabelEvaluation, TheWorstComeFirstWithTheirFacts) {
  const auto worst =
      multi_label_evaluation({{3, -3}, {3, 3}}, {{1, 0}, {0, 1}}, {.multi_label = true})
          ->hardest_examples(5)
          .value();
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].item, 1);
  EXPECT_EQ(worst[0].fields["labels"], Json::array({"class 1"}));
  EXPECT_EQ(worst[0].fields["predictions"], Json::array({"class 0", "class 1"}));
  EXPECT_EQ(worst[0].fields["is_right"], false);
  EXPECT_EQ(worst[1].fields["is_right"], true);
}

TEST(RegressEvaluation, SeveralNumbersHaveFiguresEach) {
  const auto objective = make_regress();
  const auto evaluation = objective->evaluation();
  const std::vector<std::vector<double>> wanted = {{1, 5}, {2, 4}, {3, 7}};
  show(*evaluation, {{1, 1}, {2, 2}, {4, 3}},
       [&](std::size_t row, data::Example& example) { example.values = wanted[row]; });
  const auto metrics = evaluation->result();
  EXPECT_NEAR(metrics.at("eval_loss"), (1.0 / 3 + (16.0 + 4 + 16) / 3) / 2, 1e-9);
  const auto details = evaluation->details();
  EXPECT_NEAR(details["per_label"]["class 0"]["mse"].get<double>(), 1.0 / 3, 1e-9);
  EXPECT_NEAR(details["per_label"]["class 0"]["spearmanr"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(details["per_label"]["class 1"]["spearmanr"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(metrics.at("eval_spearmanr"), 0.75, 1e-9);
  EXPECT_EQ(evaluation->hardest_examples(1).value()[0].item, 2);
  EXPECT_EQ(evaluation->hardest_examples(1).value()[0].fields["label"], Json::array({3.0, 7.0}));
}

TEST(RegressEvaluation, AnotherCountOfNumbersThanTheModelsIsRefused) {
  const auto evaluation = make_regress()->evaluation();
  EXPECT_EQ(test::message_of<UserError>([&] {
              show(*evaluation, {{1, 1}, {2, 2}}, [](std::size_t, data::Example& example) {
                example.values = {1, 2, 3};
              });
            }),
            "the data have 3 numbers per row, but the model's output size is 2");
}

TEST(Evaluation, OfEmptyInputIsZeroOrUndefined) {
  EXPECT_EQ(make_class_evaluation({.tune_threshold = metrics::ThresholdMetric::kF1})
                ->result()
                .at("eval_accuracy"),
            0);
  EXPECT_EQ(make_multi_label_evaluation({})->result().at("eval_f1"), 0);
  EXPECT_TRUE(make_class_evaluation({})->hardest_examples(3).value().empty());
}

}  // namespace
}  // namespace weft::objectives
