// Hard attention in whole runs: its choices are trained by the loss of each text.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "support/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

const std::string kHard = "model.attention={type: hard, heads: 2}";

class HardAttentionRuns : public ::testing::Test {
 protected:
  HardAttentionRuns() { log::set_level(log::Level::kError); }

  void train(const std::string& directory, std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(), {kHard, "train.log_every=1 steps"});
    run_training(small_.config("classify", directory, overrides), {});
  }

  std::string refusal(const std::string& kind, const std::vector<std::string>& overrides) const {
    return test::message_of<config::Error>([&] {
      auto all = overrides;
      all.insert(all.begin(), kHard);
      run_training(small_.config(kind, "refused", all), {});
    });
  }

  test::SmallRun small_;
};

TEST_F(HardAttentionRuns, TheLossOfATextIsThatOfTheObjective) {
  const auto rows = small_.file("train.tsv");
  int yes = 0;
  for (auto at = rows.find("\tyes\n"); at != std::string::npos; at = rows.find("\tyes\n", at + 1)) {
    ++yes;
  }
  ASSERT_GT(yes, 0);
  ASSERT_LT(yes, 40);
  int run = 0;
  for (const std::string objective :
       {"{type: classify}", "{type: classify, label_smoothing: 0.2}",
        "{type: classify, focal_gamma: 1}", "{type: classify, class_weights: {yes: 2, no: 0.5}}"}) {
    const auto directory = "run" + std::to_string(++run);
    train(directory,
          {"objective=" + objective, "model.attention.entropy_weight=0", "train.duration=1 steps",
           "train.schedule.warmup=0 steps", "train.batch_tokens=null", "train.batch_sequences=40"});
    const auto loss = small_.values(directory, "train/loss").at(1);
    const auto of_text = small_.values(directory, "train/sequence_loss").at(1);
    const bool is_weighted = objective.find("class_weights") != std::string::npos;
    // The loss of the objective is divided by the weights of all texts, not by their number.
    const double weights = is_weighted ? 2 * yes + 0.5 * (40 - yes) : 40;
    EXPECT_NEAR(40 * of_text, weights * loss, 1e-3) << objective;
  }
}

TEST_F(HardAttentionRuns, AStepDoesNotDependOnItsSplitIntoMicroBatches) {
  // Few steps: rounding errors grow with the steps, until a draw is another one.
  const std::vector<std::string> common{"model.dropout=0.1", "train.duration=3 steps"};
  const auto with = [&](const std::string& key) {
    auto overrides = common;
    overrides.push_back(key);
    return overrides;
  };
  train("whole", common);
  train("parts", with("train.micro_batch_tokens=24"));
  train("recomputed", with("train.gradient_checkpointing=layers"));
  for (const std::string tag :
       {"train/loss", "train/sequence_loss", "train/attention_entropy", "train/grad_norm"}) {
    const auto whole = small_.values("whole", tag);
    const auto parts = small_.values("parts", tag);
    ASSERT_EQ(whole.size(), 3U) << tag;
    for (const auto& [step, value] : whole) {
      EXPECT_NEAR(parts.at(step), value, 1e-3 * std::abs(value) + 1e-5)
          << tag << " at step " << step;
    }
    EXPECT_EQ(small_.values("recomputed", tag), whole) << tag;
  }
}

TEST_F(HardAttentionRuns, TheBaselineIsAMovingAverageOfTheLoss) {
  train("run", {"train.duration=3 steps", "train.save_every=1 steps"});
  const auto losses = small_.values("run", "train/sequence_loss");
  double expected = losses.at(1);
  for (const int64_t step : {2, 3}) {
    expected = 0.9 * expected + 0.1 * losses.at(step);
  }
  const auto state = load_carried_state(small_.path("run/checkpoint-3"));
  ASSERT_EQ(state.size(), 1U);
  EXPECT_NEAR(state.at("-1/draw_baseline").item<double>(), expected, 1e-6);
}

TEST_F(HardAttentionRuns, WhatHasNoLossForEachTextIsRefused) {
  EXPECT_NE(refusal("mlm", {}).find(
                "has attention that draws keys at random and learns from the loss of each whole "
                "text; allowed are"),
            std::string::npos)
      << refusal("mlm", {});
  EXPECT_NE(refusal("classify", {"objective.r_drop=1", "model.dropout=0.1"}).find("r_drop"),
            std::string::npos);
  EXPECT_NE(refusal("classify", {"model.drop_path_rate=0.1"}).find("drop_path_rate"),
            std::string::npos);
  EXPECT_NE(refusal("classify", {"model.early_exit={type: patience}"}).find("early_exit"),
            std::string::npos);
  EXPECT_NE(refusal("classify", {"model.halting={type: act}"}).find("halting"), std::string::npos);
}

}  // namespace
}  // namespace weft::train
