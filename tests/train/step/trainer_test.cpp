#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "support/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/run_directory.h"
#include "train/run/train.h"
#include "train/small_run.h"
#include "train/step/evaluate.h"
#include "train/step/evaluate_directory.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() { log::set_level(log::Level::kError); }

  static void train(const RunConfig& config, Resume resume = Resume::kAuto) {
    run_training(config, {.resume = resume});
  }

  /// Eight steps straight equal four, a stop, a new trainer and four more: every tensor and every
  /// line.
  void expect_exact_resume(const std::string& kind, const std::vector<std::string>& overrides) {
    train(small_.config(kind, "straight", overrides));
    ASSERT_TRUE(test::train_until(small_.config(kind, "parts", overrides), 4));
    ASSERT_TRUE(fs::exists(small_.path("parts/checkpoint-4")));
    train(small_.config(kind, "parts", overrides));
    for (const auto* name :
         {"model.safetensors", "training/optimizer.safetensors", "config.json"}) {
      const auto straight = small_.file(std::string("straight/checkpoint-8/") + name);
      EXPECT_FALSE(straight.empty()) << name;
      EXPECT_TRUE(straight == small_.file(std::string("parts/checkpoint-8/") + name)) << name;
    }
    EXPECT_FALSE(small_.metrics("straight").empty());
    EXPECT_EQ(small_.metrics("straight"), small_.metrics("parts"));
  }

  /// Fine-tunes the model at `from` for two epochs.
  RunConfig fine_tuning(const std::string& from, const std::string& directory) const {
    const std::string yaml =
        "init_from: " + small_.path(from) +
        "\ndata:\n  train: [{path: " + small_.path("train.tsv") +
        "}]\n  evaluate: [{path: " + small_.path("held_out.tsv") +
        "}]\nobjective: {type: classify}\ntrain: {duration: 2 epochs, batch_sequences: 8, "
        "precision: fp32, optimizer: {lr: 1e-3}, evaluate_every: 1 epochs, best_by: "
        "eval_accuracy}\nrun: {directory: " +
        small_.path(directory) + ", device: cpu}\n";
    return read_run_config(config::Document::parse(yaml, "tune.yaml"));
  }

  test::SmallRun small_;
};

TEST_F(TrainerTest, MlmResumesBitForBitInFp32) { expect_exact_resume("mlm", {"train.threads=2"}); }

TEST_F(TrainerTest, MlmResumesBitForBitInBf16) {
  expect_exact_resume("mlm", {"train.precision=bf16", "data.num_workers=0"});
}

TEST_F(TrainerTest, PairsResumeBitForBitWithAccumulationInFp32) {
  expect_exact_resume("pairs", {"train.micro_batch_tokens=40"});
}

TEST_F(TrainerTest, PairsResumeBitForBitWithAccumulationInBf16) {
  expect_exact_resume("pairs", {"train.micro_batch_tokens=40", "train.precision=bf16"});
}

TEST_F(TrainerTest, ClassifierResumesBitForBitWithEvaluation) {
  expect_exact_resume("classify", {"train.evaluate_every=2 steps", "train.save_every=3 steps",
                                   "train.precision=bf16"});
}

/// A model with windows, rotary positions and gates, in place of the small BERT.
const std::vector<std::string> kModern = {
    "model.preset=modernbert-base",
    "model.position.type=rotary",
    "model.dropout=0.1",
    "model.attention.type=window",
    "model.attention.window=8",
    "model.attention.global_attn_every_n_layers=2",
    "model.feed_forward.dropout=0.1",
};

std::vector<std::string> modern(const std::vector<std::string>& more) {
  auto overrides = kModern;
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

TEST_F(TrainerTest, ModernBertResumesBitForBitInBf16) {
  expect_exact_resume("mlm", modern({"train.micro_batch_tokens=40", "train.precision=bf16"}));
}

TEST_F(TrainerTest, ModernBertClassifierResumesBitForBitInFp32) {
  expect_exact_resume("classify",
                      modern({"model.classifier_pooling=mean", "train.evaluate_every=2 steps"}));
}

TEST_F(TrainerTest, ModernBertLearnsWithAnyMicroBatches) {
  const std::vector<std::string> longer = {"train.duration=60 steps", "train.log_every=1 steps"};
  train(small_.config("classify", "whole", modern(longer)));
  train(small_.config("classify", "cut",
                      modern({"train.log_every=1 steps", "train.micro_batch_tokens=30"})));
  const auto loss = small_.values("whole", "train/loss");
  EXPECT_LT(loss.at(60), 0.5 * loss.at(1));
  const auto cut = small_.values("cut", "train/loss");
  EXPECT_NEAR(cut.at(1), loss.at(1), 2e-6 * loss.at(1));
}

TEST_F(TrainerTest, StopInAnEvaluationLosesNoResults) {
  const std::vector<std::string> overrides = {"train.evaluate_every=4 steps"};
  train(small_.config("mlm", "straight", overrides));
  // The stop is requested before the evaluation that is due after step 4.
  EXPECT_THROW(
      run_training(small_.config("mlm", "parts", overrides), {.resume = Resume::kAuto,
                                                              .on_step =
                                                                  [](const TrainState& state) {
                                                                    if (state.progress.steps == 3) {
                                                                      request_stop(true);
                                                                    }
                                                                  }}),
      Stopped);
  request_stop(false);
  train(small_.config("mlm", "parts", overrides));
  EXPECT_EQ(small_.metrics("straight"), small_.metrics("parts"));
}

TEST_F(TrainerTest, AccumulationEqualsTheLargeBatch) {
  for (const std::string kind : {"mlm", "pairs", "classify"}) {
    const std::vector<std::string> all = {"train.log_every=1 steps"};
    auto cut = all;
    cut.emplace_back("train.micro_batch_tokens=30");
    train(small_.config(kind, kind + "-whole", all));
    train(small_.config(kind, kind + "-cut", cut));
    const auto whole = small_.values(kind + "-whole", "train/loss");
    const auto parts = small_.values(kind + "-cut", "train/loss");
    ASSERT_EQ(whole.size(), 8U);
    for (const auto& [step, loss] : whole) {
      EXPECT_NEAR(parts.at(step), loss, 2e-4 * loss) << kind << " step " << step;
    }
    EXPECT_NEAR(parts.at(1), whole.at(1), 2e-6 * whole.at(1)) << kind;
  }
}

TEST_F(TrainerTest, LossFalls) {
  train(small_.config("classify", "run", {"train.duration=60 steps", "train.log_every=10 steps"}));
  const auto loss = small_.values("run", "train/loss");
  EXPECT_LT(loss.at(60), 0.5 * loss.at(10));
}

TEST_F(TrainerTest, FinishedRunIsLeftAlone) {
  const auto config = small_.config("mlm", "run");
  train(config);
  const auto before = small_.file("run/metrics.jsonl");
  train(config);
  EXPECT_EQ(small_.file("run/metrics.jsonl"), before);
  train(small_.config("mlm", "run", {"train.duration=10 steps"}));
  EXPECT_EQ(small_.values("run", "train/loss").rbegin()->first, 10);
}

TEST_F(TrainerTest, KeepsTheNewestAndTheBestCheckpoints) {
  train(small_.config(
      "classify", "run",
      {"train.save_every=1 steps", "train.evaluate_every=1 steps", "run.keep={best: 1, last: 2}"}));
  const auto steps = checkpoint_steps(small_.path("run"));
  const auto best = fs::read_symlink(small_.path("run/best")).string();
  EXPECT_EQ(fs::read_symlink(small_.path("run/last")).string(), "checkpoint-8");
  EXPECT_TRUE(fs::exists(small_.path("run/" + best)));
  EXPECT_LE(steps.size(), 3U);
  EXPECT_GE(steps.size(), 2U);
  EXPECT_EQ(steps.back(), 8);
  EXPECT_NO_THROW(verify_manifest(small_.path("run/last")));
}

TEST_F(TrainerTest, SkipsADamagedCheckpoint) {
  const std::vector<std::string> overrides = {"train.save_every=2 steps"};
  train(small_.config("mlm", "straight", overrides));
  train(small_.config("mlm", "run", overrides));
  const auto weights = small_.path("run/checkpoint-8/model.safetensors");
  auto bytes = test::Folder::read(weights);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  small_.folder().write("run/checkpoint-8/model.safetensors", bytes);
  EXPECT_EQ(newest_valid_checkpoint(small_.path("run"))->state.progress.steps, 6);
  train(small_.config("mlm", "run", overrides));
  EXPECT_TRUE(small_.file("straight/checkpoint-8/model.safetensors") ==
              small_.file("run/checkpoint-8/model.safetensors"));
  EXPECT_TRUE(fs::exists(small_.path("run/checkpoint-8.superseded")));
  EXPECT_EQ(small_.metrics("straight"), small_.metrics("run"));
}

TEST_F(TrainerTest, RefusesWhatCannotChangeOnResume) {
  ASSERT_TRUE(test::train_until(small_.config("mlm", "run"), 4));
  EXPECT_THROW(train(small_.config("mlm", "run", {"run.seed=8"})), UserError);
  EXPECT_THROW(train(small_.config("pairs", "run")), UserError);
  small_.folder().write("train.txt", "other words entirely.\nand more of them.\n\nA third line.\n");
  EXPECT_THROW(train(small_.config("mlm", "run")), UserError);
}

TEST_F(TrainerTest, SecondProcessOnADirectoryIsRefused) {
  const RunDirectory held(small_.path("run"));
  EXPECT_THROW(train(small_.config("mlm", "run")), UserError);
}

TEST_F(TrainerTest, NeverResumingReplacesTheRun) {
  const auto config = small_.config("mlm", "run");
  train(config);
  const auto lines = small_.metrics("run");
  train(config, Resume::kNever);
  EXPECT_EQ(small_.metrics("run"), lines);
}

TEST_F(TrainerTest, NeverResumingKeepsTheModelThatTheRunStartsFrom) {
  train(small_.config("mlm", "run"));
  const auto weights = small_.file("run/last/model.safetensors");
  for (const auto* from : {"run", "run/last", "run/checkpoint-8"}) {
    const auto config = fine_tuning(from, "run");
    EXPECT_EQ(test::message_of<UserError>([&] { train(config, Resume::kNever); }),
              str_cat("init_from: ", small_.path(from), " belongs to the earlier run in ",
                      small_.path("run"),
                      ", which --resume never would delete; choose another --output"));
  }
  EXPECT_EQ(small_.file("run/last/model.safetensors"), weights);
}

TEST_F(TrainerTest, AnotherMetricBeginsANewSelection) {
  const std::vector<std::string> overrides = {"train.evaluate_every=2 steps",
                                              "train.save_every=2 steps"};
  auto first = overrides;
  first.emplace_back("train.best_by=eval_loss");
  train(small_.config("classify", "run", first));
  auto second = overrides;
  second.insert(second.end(), {"train.best_by=eval_accuracy", "train.duration=12 steps",
                               "train.early_stopping.patience=4"});
  train(small_.config("classify", "run", second));
  const auto state = read_state(small_.path("run/last/training/state.json"));
  EXPECT_EQ(state.metric_for_best_model, "eval_accuracy");
  EXPECT_EQ(state.progress.steps, 12);
  ASSERT_EQ(state.scored.size(), 1U);
  EXPECT_GT(state.scored[0].step, 8);
  EXPECT_LE(state.scored[0].value, 1);
  EXPECT_LE(*state.early_stopping.best, 1);
}

TEST_F(TrainerTest, ASingleRunHasNoTestMetrics) {
  const auto config = small_.config(
      "classify", "run", {"train.evaluate_every=2 steps", "train.best_by=test_accuracy"});
  EXPECT_NE(test::message_of<UserError>([&] { train(config); }).find("test_accuracy"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(small_.path("run")));
}

TEST_F(TrainerTest, ResumesFromANamedCheckpointInAnotherDirectory) {
  train(small_.config("mlm", "run", {"train.save_every=4 steps"}));
  run_training(small_.config("mlm", "other"),
               {.resume = Resume::kFrom, .from = small_.path("run/checkpoint-4")});
  EXPECT_TRUE(small_.file("run/checkpoint-8/model.safetensors") ==
              small_.file("other/checkpoint-8/model.safetensors"));
}

TEST_F(TrainerTest, StepsThatAreNotFiniteNeverReachTheWeights) {
  const std::vector<std::string> overrides = {"train.optimizer.lr=1e38",
                                              "train.schedule={type: constant}",
                                              "train.nan_policy={max_consecutive_skips: 3}",
                                              "train.clip_norm=null",
                                              "train.save_every=1 steps",
                                              "train.optimizer.type=sgd"};
  const auto message =
      test::message_of<std::runtime_error>([&] { train(small_.config("mlm", "run", overrides)); });
  EXPECT_NE(message.find("3 steps in a row were skipped"), std::string::npos) << message;
  const auto last = newest_valid_checkpoint(small_.path("run"));
  ASSERT_TRUE(last);
  EXPECT_GT(last->state.skipped, 0);
  EXPECT_LT(last->state.updates, last->state.progress.steps);
}

TEST_F(TrainerTest, UnknownMetricForTheBestIsRefusedAtOnce) {
  const auto message = test::message_of<UserError>([&] {
    train(small_.config("classify", "run",
                        {"train.best_by=eval_acuracy", "train.evaluate_every=4 steps"}));
  });
  EXPECT_TRUE(message.starts_with("train.best_by: 'eval_acuracy' is not one of eval_accuracy, "));
  EXPECT_TRUE(message.ends_with(", did you mean 'eval_accuracy'?")) << message;
}

TEST_F(TrainerTest, FineTunesWhatItPretrained) {
  train(small_.config("mlm", "pretrained"));
  train(fine_tuning("pretrained", "tuned"));
  const auto metrics =
      evaluate_directory(small_.path("tuned/last"), {small_.path("held_out.tsv")}, {});
  const auto logged = small_.values("tuned", "eval/accuracy");
  ASSERT_EQ(logged.size(), 2U);
  EXPECT_EQ(metrics.at("eval_accuracy"), logged.rbegin()->second);
  EXPECT_NEAR(metrics.at("eval_loss"), small_.values("tuned", "eval/loss").rbegin()->second, 1e-6);
  const auto again = evaluate_directory(small_.path("tuned/last"), {small_.path("held_out.tsv")},
                                        {.batch_tokens = 16});
  EXPECT_NEAR(metrics.at("eval_loss"), again.at("eval_loss"), 1e-6);
}

TEST_F(TrainerTest, DryRunReportsAndLeavesNothing) {
  const auto report = dry_run(small_.config("mlm", "run"));
  EXPECT_EQ(report.steps, 8);
  EXPECT_GT(report.step_tokens, 0);
  EXPECT_GT(report.checkpoint_bytes, 0);
  EXPECT_FALSE(fs::exists(small_.path("run")));
}

}  // namespace
}  // namespace weft::train
