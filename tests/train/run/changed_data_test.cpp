#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "support/config.h"
#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

/// A run that was stopped after its fourth step.
class ChangedDataTest : public ::testing::Test {
 protected:
  ChangedDataTest() {
    log::set_level(log::Level::kWarning);
    EXPECT_TRUE(test::train_until(small_.config("mlm", "run"), 4));
  }
  ~ChangedDataTest() override { log::set_level(log::Level::kInfo); }

  std::string refusal(const RunConfig& config) const {
    return test::message_of<UserError>([&] { run_training(config, {}); });
  }
  /// What an allowed run warns of.
  std::string warnings(const RunConfig& config, bool allows_changed_data) const {
    testing::internal::CaptureStderr();
    run_training(config, {.allows_changed_data = allows_changed_data});
    return testing::internal::GetCapturedStderr();
  }
  void expect_finished() const { EXPECT_EQ(small_.values("run", "train/loss").rbegin()->first, 8); }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  test::SmallRun small_;
};

TEST_F(ChangedDataTest, OfTheSameNameIsRefusedUnlessAllowed) {
  small_.folder().write("train.txt",
                        "the red fox sees a bird.\n\nand then it runs.\n\nSo it is.\n");
  const auto config = small_.config("mlm", "run");
  const auto message = refusal(config);
  EXPECT_TRUE(
      contains(message, "the training data differ from those of this checkpoint (fingerprint "));
  EXPECT_TRUE(contains(message, "--allow-changed-data")) << message;
  const auto words = warnings(config, true);
  EXPECT_TRUE(
      contains(words, "warning: [run] the training data differ from those of this checkpoint"))
      << words;
  expect_finished();
  // Later checkpoints have the fingerprint of the new data.
  const auto later = warnings(small_.config("mlm", "run", {"train.duration=10 steps"}), false);
  EXPECT_TRUE(contains(later,
                       "warning: [run] changed since the checkpoint: train.duration was 8 steps, "
                       "is 10 steps\n"))
      << later;
  EXPECT_FALSE(contains(later, "training data")) << later;
}

TEST_F(ChangedDataTest, OfAnotherNameIsListedByItsKeyAndRefusedUnlessAllowed) {
  const auto other = small_.folder().write("other.txt", small_.file("train.txt"));
  const auto config = small_.config("mlm", "run", {"data.train=[{path: " + other + "}]"});
  const auto message = refusal(config);
  EXPECT_TRUE(contains(
      message,
      "the run cannot be resumed because config keys have changed: data.train[0].path was " +
          small_.path("train.txt") + ", is " + other))
      << message;
  EXPECT_TRUE(
      contains(warnings(config, true), "[run] changed since the checkpoint: data.train[0]"));
  expect_finished();
}

TEST_F(ChangedDataTest, ToEvaluateOnIsAWarning) {
  small_.folder().write("held_out.txt", "the green bird.\n\nsome hill over there.\n");
  EXPECT_TRUE(
      contains(warnings(small_.config("mlm", "run"), false),
               "[run] the evaluation data changed: metrics before and after are not comparable"));
  expect_finished();
}

TEST_F(ChangedDataTest, EveryChangedKeyIsListed) {
  const auto message = refusal(
      small_.config("mlm", "run", {"run.seed=8", "model.dim=8", "train.optimizer.lr=1e-3"}));
  EXPECT_TRUE(contains(message, "model.dim was 16, is 8")) << message;
  EXPECT_TRUE(contains(message, "run.seed was 7, is 8")) << message;
  EXPECT_FALSE(contains(message, "optimizer.lr")) << "it may change: " << message;
  const auto words = warnings(
      small_.config("mlm", "run", {"train.optimizer.lr=1e-3", "train.log_every=1 steps"}), false);
  EXPECT_TRUE(
      contains(words, "changed since the checkpoint: train.optimizer.lr was 0.01, is 0.001"))
      << words;
  EXPECT_TRUE(
      contains(words, "changed since the checkpoint: train.log_every was 3 steps, is 1 steps"))
      << words;
}

}  // namespace
}  // namespace weft::train
