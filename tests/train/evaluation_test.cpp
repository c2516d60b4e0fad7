#include <cmath>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "data/datasets/labelled_dataset.h"
#include "models/directory.h"
#include "objectives/evaluation/decision_threshold.h"
#include "objectives/objectives.h"
#include "support/config.h"
#include "support/toy_tokenizer.h"
#include "train/run/device.h"
#include "train/small_run.h"
#include "train/step/evaluate.h"
#include "train/step/evaluate_directory.h"

namespace weft::train {
namespace {

models::ModelOptions model_options(int64_t labels) {
  models::ModelOptions options;
  options.head = models::Head::kSequence;
  options.vocabulary = 60;
  options.dim = 64;
  options.layers = 2;
  options.heads = 4;
  options.width = 96;
  options.length = 96;
  options.init_std = 0.1;
  for (int64_t i = 0; i < labels; ++i) {
    options.labels.push_back("c" + std::to_string(i));
  }
  return options;
}

/// 400 rows of 1 to 90 words, labels in turn.
std::string table(int64_t labels) {
  std::string rows = "text\tlabel\n";
  for (int64_t row = 0; row < 400; ++row) {
    for (int64_t word = 0; word <= (row * 37) % 90; ++word) {
      rows += "w" + std::to_string((row * 7 + word * word) % 50) + " ";
    }
    rows += "\tc" + std::to_string((row * 5) % labels) + "\n";
  }
  return rows;
}

class EvaluationTest : public ::testing::Test {
 protected:
  EvaluationTest() { log::set_level(log::Level::kError); }
  ~EvaluationTest() override { set_threads(std::nullopt); }

  std::shared_ptr<const data::Dataset> dataset(int64_t labels,
                                               const data::LabelFormat& form) const {
    std::vector<std::string> words;
    for (int i = 0; i < 50; ++i) {
      words.push_back("w" + std::to_string(i));
    }
    data::DataItem item;
    item.path = folder_.write("x.tsv", table(labels));
    item.files = {item.path};
    data::LabelledSettings settings;
    settings.length = 96;
    settings.label_format = form;
    return data::make_labelled_dataset({item}, settings,
                                       std::make_shared<test::ToyTokenizer>(words));
  }

  test::Folder folder_;
};

// To the last digit for budgets from 512 on, where there are batches for all threads; within the
// rounding of floats where matrix products are cut otherwise.
TEST_F(EvaluationTest, IsTheSameForEveryBudgetAndNumberOfThreads) {
  for (const bool is_multi : {false, true}) {
    auto options = model_options(3);
    options.is_multi_label = is_multi;
    const auto model = models::make_model(options, 5);
    const auto objective = objectives::make_classify({.multi_label = is_multi});
    const auto data = dataset(3, {.is_multi_label = is_multi});
    Metrics first;
    for (const int64_t threads : {1, 2, 3}) {
      set_threads(threads);
      for (const int64_t budget : {512, 4096, 32768, 100}) {
        const auto metrics = evaluate(*objective, *model, data, {.batch_tokens = budget});
        if (first.empty()) {
          first = metrics;
        }
        ASSERT_EQ(metrics.size(), first.size());
        for (const auto& [name, value] : first) {
          EXPECT_NEAR(metrics.at(name), value, 1e-6)
              << name << ", budget " << budget << ", threads " << threads;
          if (budget >= 512) {
            EXPECT_EQ(metrics.at(name), value) << name << ", budget " << budget;
          }
        }
      }
    }
  }
}

TEST_F(EvaluationTest, ClassifierKeepsTheTunedThreshold) {
  const test::SmallRun small;
  const auto config = small.config("classify", "tuned",
                                   {"objective.tune_threshold=f1", "train.evaluate_every=4 steps",
                                    "train.save_every=4 steps", "run.keep.best=0"});
  run_training(config, {});
  const auto found = small.values("tuned", "eval/threshold");
  ASSERT_EQ(found.size(), 2U);
  for (const auto& [step, threshold] : found) {
    const auto directory = small.path("tuned/checkpoint-" + std::to_string(step));
    const auto decision = objectives::read_decision_threshold(directory);
    EXPECT_EQ(decision.threshold, threshold);
    EXPECT_EQ(decision.tuned_by, "f1");
    const auto done = run_evaluation_on_directory(directory, {small.path("held_out.tsv")}, {});
    EXPECT_EQ(done.decision.threshold, threshold);
    EXPECT_FALSE(done.evaluation->result().contains("eval_threshold"));
    EXPECT_EQ(done.evaluation->result().at("eval_f1"), small.values("tuned", "eval/f1").at(step));
  }
}

TEST_F(EvaluationTest, AThresholdOfTheConfigIsKeptToo) {
  const test::SmallRun small;
  run_training(small.config("classify", "given", {"objective.threshold=0.3"}), {});
  EXPECT_EQ(objectives::read_decision_threshold(small.path("given/last")).threshold, 0.3);
  run_training(small.config("classify", "none"), {});
  EXPECT_FALSE(objectives::read_decision_threshold(small.path("none/last")).threshold);
}

TEST_F(EvaluationTest, ThePositiveClassIsSavedAndEvaluated) {
  const test::SmallRun small;
  const auto f1_of_class = [&](const std::string& name, const std::string& label) {
    const auto done =
        run_evaluation_on_directory(small.path(name), {small.path("held_out.tsv")}, {});
    EXPECT_EQ(done.evaluation->details()["positive_label"], label);
    return std::pair{done.evaluation->result().at("eval_f1"),
                     done.evaluation->details()["per_class"][label]["f1"].get<double>()};
  };
  run_training(small.config("classify", "rarer"), {});
  const auto rarer = objectives::read_decision_threshold(small.path("rarer/last")).positive_label;
  const std::string other = rarer == "yes" ? "no" : "yes";
  const auto [f1, f1_of_rarer] = f1_of_class("rarer", rarer);
  EXPECT_EQ(f1, f1_of_rarer);
  run_training(small.config("classify", "other", {"objective.positive_label='" + other + "'"}), {});
  const auto [f1_chosen, f1_of_other] = f1_of_class("other", other);
  EXPECT_EQ(f1_chosen, f1_of_other);
  EXPECT_NE(f1_chosen, f1);
}

TEST_F(EvaluationTest, OnlyObjectivesWithExampleResultsReportTheWorst) {
  const test::SmallRun small;
  run_training(small.config("mlm", "words", {"train.duration=4 steps"}), {});
  EXPECT_NE(test::message_of<UserError>([&] {
              run_evaluation_on_directory(small.path("words"), {small.path("held_out.txt")},
                                          {.needs_example_results = true});
            }).find("has no per-example results"),
            std::string::npos);
}

TEST_F(EvaluationTest, WeightedClassesTrainTheSameWithMicroBatches) {
  const test::SmallRun small;
  const std::vector<std::string> weighted = {
      "objective.class_weights=balanced", "objective.focal_gamma=1", "train.batch_tokens=null",
      "train.batch_sequences=8",          "model.dropout=0",         "model.attention.dropout=0",
      "train.log_every=1 steps"};
  run_training(small.config("classify", "whole", weighted), {});
  auto cut = weighted;
  cut.emplace_back("train.micro_batch_tokens=32");
  run_training(small.config("classify", "cut", cut), {});
  const auto whole = small.values("whole", "train/loss");
  const auto parts = small.values("cut", "train/loss");
  ASSERT_EQ(whole.size(), 8U);
  for (const auto& [step, loss] : whole) {
    EXPECT_NEAR(parts.at(step), loss, 2e-4) << step;
  }
}

TEST_F(EvaluationTest, DirectoryUsesTheGivenLanguage) {
  const test::SmallRun small;
  const auto items = [&](const std::string& key, const std::string& file) {
    return key + "=[{path: " + small.path(file) + ", language: de}]";
  };
  run_training(
      small.config("classify", "out",
                   {"model={type: xlm, dim: 16, layers: 1, attention: {heads: 2}, "
                    "position: {length: 32}, languages: [de, en]}",
                    items("data.train", "train.tsv"), items("data.evaluate", "held_out.tsv")}),
      {});
  const auto loss_in = [&](const std::string& language) {
    return evaluate_directory(small.path("out"), {small.path("held_out.tsv")},
                              {.language = language})
        .at("eval_loss");
  };
  EXPECT_NE(loss_in("de"), loss_in("en"));
  EXPECT_EQ(test::message_of<UserError>([&] { loss_in("sw"); }),
            "xlm: language: 'sw', must be one of the model's languages: de, en");
  EXPECT_EQ(test::message_of<UserError>([&] { loss_in(""); }),
            small.path("held_out.tsv") +
                ": language: missing, must be one of the model's languages: de, en");
}

}  // namespace
}  // namespace weft::train
