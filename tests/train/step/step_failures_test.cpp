#include "train/step/step_failures.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "formats/safetensors.h"
#include "support/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/nan_injector.h"
#include "train/run/train.h"
#include "train/small_run.h"
#include "train/step/train_step.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

const std::map<int, std::string> kOneBad = {{30, "1e30"}};
const std::map<int, std::string> kTwoBad = {{30, "1e30"}, {33, "1e30"}};
const std::map<int, std::string> kSpike = {{30, "40"}};

class StepFailuresTest : public ::testing::Test {
 protected:
  StepFailuresTest() { log::set_level(log::Level::kWarning); }
  ~StepFailuresTest() override { log::set_level(log::Level::kInfo); }

  /// Numbers of some rows.
  using Numbers = std::map<int, std::string>;

  /// A regression on 40 rows, four a step, in the order of the file: row 30 is in the eighth step.
  RunConfig regression(const std::string& directory,
                       const std::vector<std::string>& more,
                       const Numbers& odd) const {
    std::string rows = "text\tlabel\n";
    for (int row = 0; row < 40; ++row) {
      const auto number = odd.contains(row) ? odd.at(row) : row % 3 == 0 ? "0.5" : "0.25";
      rows += "the red fox sees hill " + std::string(row % 7 + 1, 'a') + "\t" + number + "\n";
    }
    small_.folder().write("train.tsv", rows);
    std::vector<std::string> overrides = {
        "objective={type: regress}", "data.evaluate=[]",        "data.shuffle=false",
        "train.batch_tokens=null",   "tokenizer.vocab_size=40", "train.batch_sequences=4",
        "train.log_every=1 steps",   "train.duration=24 steps", "train.optimizer.lr=1e-3"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return small_.config("classify", directory, overrides);
  }

  /// What a run warns of.
  static std::string warnings(const RunConfig& config) {
    test::CapturedStderr captured;
    run_training(config, {});
    return captured.take();
  }

  /// A run that ends with an error, which is also the last line of its log.
  static std::string error_of(const RunConfig& config) {
    test::CapturedStderr captured;
    auto message = test::message_of<std::runtime_error>([&] { run_training(config, {}); });
    const auto log = test::Folder::read(config.run.directory + "/train.log");
    EXPECT_TRUE(log.ends_with(" error " + message + "\n")) << log;
    return message;
  }

  /// Trains mlm with a NaN injector that works in the step after `steps` ones.
  std::string train_with_nan(const RunConfig& config,
                             test::NanInjector& injector,
                             int64_t steps) const {
    test::CapturedStderr captured;
    run_training(config, {.on_step = [&](const TrainState& state) {
                   injector.is_on = state.progress.steps == steps;
                 }});
    return captured.take();
  }

  TrainState last_state(const std::string& directory) const {
    return newest_valid_checkpoint(small_.path(directory)).value().state;
  }

  void expect_same(const std::string& straight, const std::string& run) const {
    const auto name = checkpoint_name(last_state(straight).progress.steps);
    for (const auto* file : {"model.safetensors", "training/optimizer.safetensors"}) {
      const auto expected = small_.file(straight + "/" + name + "/" + file);
      ASSERT_FALSE(expected.empty());
      EXPECT_TRUE(expected == small_.file(run + "/" + name + "/" + file)) << run << " " << file;
    }
    EXPECT_EQ(small_.metrics(straight), small_.metrics(run)) << run;
  }

  void expect_finite(const std::string& checkpoint) const {
    for (const auto* file : {"model.safetensors", "training/optimizer.safetensors"}) {
      const formats::SafetensorsFile tensors(small_.path(checkpoint + "/" + file));
      for (const auto& [name, view] : tensors.tensors()) {
        const auto* const values = reinterpret_cast<const float*>(view.bytes.data());
        for (std::size_t i = 0; i < view.bytes.size() / sizeof(float); ++i) {
          ASSERT_TRUE(std::isfinite(values[i])) << checkpoint << " " << name;
        }
      }
    }
  }

  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  /// A run stopped after each step in turn and resumed is the same.
  void expect_same_when_stopped(const std::vector<std::string>& overrides, const Numbers& odd) {
    for (int64_t step = 4; step < 22; step += 3) {
      const auto name = "stopped-" + std::to_string(step);
      const auto config = regression(name, overrides, odd);
      test::CapturedStderr captured;
      ASSERT_TRUE(test::train_until(config, step));
      run_training(config, {});
      expect_same("straight", name);
    }
  }

  test::SmallRun small_;
};

TEST_F(StepFailuresTest, NanInAnActivationIsSkippedAndNamed) {
  test::NanInjector injector("layers.1");
  const auto words =
      train_with_nan(small_.config("mlm", "run", {"train.log_every=1 steps"}), injector, 3);
  EXPECT_TRUE(contains(words,
                       "[train] skipped step 4: loss nan, gradient norm nan, first in the "
                       "gradient of cls.predictions."))
      << words;
  EXPECT_TRUE(contains(words, "the activations of layers.1 are the first that are not finite"))
      << words;
  EXPECT_TRUE(contains(words, "the loss is not finite for " + small_.path("train.txt"))) << words;
  const auto state = last_state("run");
  EXPECT_EQ(state.skipped, 1);
  EXPECT_EQ(state.updates, 7);
  EXPECT_EQ(small_.values("run", "train/skipped_steps").begin()->first, 4);
  expect_finite("run/checkpoint-8");
}

TEST_F(StepFailuresTest, NanInAGradientNamesTheTensorWhereItBegan) {
  test::NanInjector injector("layers.0", test::NanInjector::Into::kGradient);
  const auto words = train_with_nan(small_.config("mlm", "run"), injector, 3);
  EXPECT_TRUE(
      contains(words, "first in the gradient of bert.encoder.layer.0.output.LayerNorm.bias"))
      << words;
  EXPECT_TRUE(
      contains(words, "all activations and the loss are finite: the problem is in the backward"))
      << words;
  EXPECT_TRUE(contains(words, "its texts are " + small_.path("train.txt"))) << words;
  EXPECT_EQ(last_state("run").skipped, 1);
  expect_finite("run/checkpoint-8");
}

TEST_F(StepFailuresTest, TransientFaultChangesNothing) {
  run_training(small_.config("mlm", "straight"), {});
  for (const auto into :
       {test::NanInjector::Into::kActivation, test::NanInjector::Into::kGradient}) {
    const bool is_activation = into == test::NanInjector::Into::kActivation;
    const std::string name = is_activation ? "activation" : "gradient";
    test::NanInjector injector("layers.1", into, 1);
    const auto words = train_with_nan(small_.config("mlm", name), injector, 3);
    EXPECT_TRUE(contains(words, "step 4: loss ")) << words;
    EXPECT_TRUE(contains(words, "probably a transient hardware fault")) << words;
    expect_same("straight", name);
  }
}

TEST_F(StepFailuresTest, OverflowingDataAreSkippedNamedAndCounted) {
  const auto words = warnings(regression("straight", {}, kOneBad));
  EXPECT_TRUE(contains(words, "skipped step 8: loss inf")) << words;
  EXPECT_TRUE(
      contains(words, "the loss is not finite for " + small_.path("train.tsv") + ", row 31\n"))
      << words;
  EXPECT_TRUE(contains(words, "the problem is in the head or the loss")) << words;
  EXPECT_EQ(last_state("straight").skipped, 2);  // of three epochs the last is cut
  expect_finite("straight/checkpoint-24");
  expect_same_when_stopped({}, kOneBad);
}

TEST_F(StepFailuresTest, StopActionEndsTheRun) {
  const auto message = error_of(
      regression("run", {"train.nan_policy.action=stop", "train.save_every=3 steps"}, kOneBad));
  EXPECT_TRUE(contains(message, "train: step 8: loss inf")) << message;
  EXPECT_TRUE(contains(message, "row 31. The weights were not changed by it")) << message;
  EXPECT_EQ(last_state("run").progress.steps, 6);
  expect_finite("run/checkpoint-6");
}

TEST_F(StepFailuresTest, ManyInARowEndTheRun) {
  const auto message = error_of(regression(
      "run", {"train.nan_policy.max_consecutive_skips=2", "train.save_every=1 steps"}, kTwoBad));
  EXPECT_TRUE(contains(message, "2 steps in a row were skipped; the last was step 9")) << message;
  const auto state = last_state("run");
  EXPECT_EQ(state.progress.steps, 8);
  EXPECT_EQ(state.skipped, 1);
  // Two that are not in a row do not.
  EXPECT_NO_THROW(
      warnings(regression("apart", {"train.nan_policy.max_consecutive_skips=2"}, kOneBad)));
  EXPECT_EQ(last_state("apart").skipped, 2);
}

TEST_F(StepFailuresTest, ARunWithoutAFiniteStepFails) {
  Numbers all;
  for (int row = 0; row < 40; ++row) {
    all[row] = "1e30";
  }
  const auto message = error_of(regression("run", {"train.duration=4 steps"}, all));
  EXPECT_TRUE(contains(message, "none of the 4 steps had a finite loss")) << message;
  EXPECT_FALSE(fs::exists(small_.path("run/last")));
}

TEST_F(StepFailuresTest, AbsurdRatesNeverReachTheWeights) {
  for (const auto* optimizer : {"adamw", "sgd", "lion"}) {
    for (const auto* rate : {"1e20", "1e38", "1e300"}) {
      const std::string name = std::string(optimizer) + rate;
      fs::remove_all(small_.path(name));
      const auto config = small_.config(
          "mlm", name,
          {"train.optimizer={type: " + std::string(optimizer) + ", lr: " + rate + "}",
           "train.clip_norm=null", "train.save_every=1 steps",
           "train.nan_policy.max_consecutive_skips=3", "train.schedule={type: constant}"});
      test::CapturedStderr captured;
      try {
        run_training(config, {});
      } catch (const std::runtime_error& error) {
        EXPECT_TRUE(contains(error.what(), "3 steps in a row were skipped")) << error.what();
      }
      const auto steps = checkpoint_steps(small_.path(name));
      EXPECT_FALSE(steps.empty()) << name;
      for (const auto step : steps) {
        expect_finite(name + "/" + checkpoint_name(step));
      }
    }
  }
}

TEST_F(StepFailuresTest, SpikesAreSkippedAlikeBeforeAndAfterAStop) {
  const std::vector<std::string> spike = {"train.spike={sigma: 20, window: 8}"};
  const auto words = warnings(regression("straight", spike, kSpike));
  EXPECT_TRUE(contains(words, "[train] skipped step 8: loss ")) << words;
  EXPECT_TRUE(contains(words, " standard deviations above the mean of the last 7 steps, "))
      << words;
  EXPECT_TRUE(contains(words, "its texts are " + small_.path("train.tsv") + ", row 29")) << words;
  const auto state = last_state("straight");
  EXPECT_EQ(state.spikes, 2);
  EXPECT_EQ(state.skipped, 2);
  EXPECT_EQ(state.loss_history.losses.size(), 8U);
  EXPECT_EQ(small_.values("straight", "train/spikes").at(24), 2);
  EXPECT_FALSE(contains(warnings(regression("blind", {}, kSpike)), "skipped"));
  expect_same_when_stopped(spike, kSpike);
}

const std::vector<std::string> kRollback = {"train.nan_policy.action=rollback",
                                            "train.save_every=3 steps"};

TEST_F(StepFailuresTest, RollsBackAndSkipsTheBadBatch) {
  const auto words = warnings(regression("straight", kRollback, kOneBad));
  EXPECT_TRUE(contains(words, "rolled back: step 8: loss inf")) << words;
  EXPECT_TRUE(contains(words, "[run] rollback 1 of 3: back to " +
                                  small_.path("straight/checkpoint-6") +
                                  ", skipping the data of the failed step"))
      << words;
  EXPECT_TRUE(contains(words, "rollback 2 of 3")) << words;
  const auto state = last_state("straight");
  EXPECT_EQ(state.rollbacks.count, 2);
  EXPECT_EQ(state.skipped, 0);
  EXPECT_EQ(state.updates, 24);
  ASSERT_EQ(state.rollbacks.skipped_ranges.size(), 2U);
  EXPECT_EQ(state.rollbacks.skipped_ranges[0].begin,
            (data::DataPosition{.epoch = 0, .position = 28}));
  EXPECT_EQ(state.rollbacks.skipped_ranges[0].end,
            (data::DataPosition{.epoch = 0, .position = 32}));
  EXPECT_EQ(state.cursor, (data::DataPosition{.epoch = 2, .position = 24}));  // 26 steps' data
  EXPECT_EQ(small_.values("straight", "train/rollbacks").at(24), 2);
  expect_same_when_stopped(kRollback, kOneBad);
}

TEST_F(StepFailuresTest, RollsBackToTheStartWithoutCheckpoints) {
  const std::vector<std::string> never = {"train.nan_policy.action=rollback"};
  const auto words = warnings(regression("straight", never, kOneBad));
  EXPECT_TRUE(contains(words, "rollback 1 of 3: back to the start")) << words;
  EXPECT_EQ(last_state("straight").rollbacks.count, 2);
  EXPECT_EQ(last_state("straight").updates, 24);
  expect_same_when_stopped(never, kOneBad);
}

TEST_F(StepFailuresTest, RollbackMaySkipAllDataSinceTheCheckpoint) {
  auto overrides = kRollback;
  overrides.emplace_back("train.rollback.skip=since_checkpoint");
  const auto words = warnings(regression("straight", overrides, kOneBad));
  EXPECT_TRUE(contains(words, "skipping all data since then")) << words;
  const auto state = last_state("straight");
  ASSERT_FALSE(state.rollbacks.skipped_ranges.empty());
  EXPECT_EQ(state.rollbacks.skipped_ranges[0].begin,
            (data::DataPosition{.epoch = 0, .position = 24}));
  EXPECT_EQ(state.rollbacks.skipped_ranges[0].end,
            (data::DataPosition{.epoch = 0, .position = 32}));
  expect_same_when_stopped(overrides, kOneBad);
}

TEST_F(StepFailuresTest, RollsBackFurtherWhereTheCheckpointItselfIsNoGood) {
  // Both steps that follow checkpoint-6 break, the second in place of the first.
  auto overrides = kRollback;
  overrides.emplace_back("train.duration=10 steps");  // one epoch: they do not come again
  const auto words = warnings(regression("run", overrides, {{24, "1e30"}, {28, "1e30"}}));
  EXPECT_TRUE(contains(words, "rollback 1 of 3: back to " + small_.path("run/checkpoint-6")))
      << words;
  EXPECT_TRUE(contains(words, "rollback 2 of 3: back to " + small_.path("run/checkpoint-3")))
      << words;
  EXPECT_TRUE(fs::exists(small_.path("run/checkpoint-6"))) << "made anew";
}

// The checkpoints of stops neither are ways back nor push out those that are.
TEST_F(StepFailuresTest, StopsDoNotDecideWhereARollbackGoes) {
  const std::map<int, std::string> odd = {{24, "1e30"}, {28, "1e30"}};
  for (const std::string kept : {"1", "2"}) {
    SCOPED_TRACE(kept);
    auto overrides = kRollback;
    overrides.insert(overrides.end(), {"train.duration=10 steps", "run.keep={last: " + kept + "}"});
    fs::remove_all(small_.path("straight"));
    const auto words = warnings(regression("straight", overrides, odd));
    const auto to = kept == "1" ? "the start" : small_.path("straight/checkpoint-3");
    EXPECT_TRUE(contains(words, "rollback 2 of 3: back to " + to)) << words;
    const auto config = regression("stopped", overrides, odd);
    fs::remove_all(small_.path("stopped"));
    test::CapturedStderr captured;
    for (const int64_t step : {1, 4, 5, 7, 8, 9}) {
      test::train_until(config, step);  // some of these steps come twice, some are the bad ones
      request_stop(false);
    }
    run_training(config, {});
    captured.take();
    expect_same("straight", "stopped");
    EXPECT_EQ(last_state("stopped").rollbacks.count, 2);
  }
}

TEST_F(StepFailuresTest, TooManyRollbacksEndTheRunWithTheLastGoodCheckpoint) {
  auto overrides = kRollback;
  overrides.emplace_back("train.rollback.max_rollbacks=1");
  const auto message = error_of(regression("run", overrides, kTwoBad));
  EXPECT_TRUE(
      contains(message,
               "train: after 1 rollbacks (train.rollback.max_rollbacks) another one would be "
               "needed: step 8: loss inf"))
      << message;
  const auto good = newest_valid_checkpoint(small_.path("run"));
  ASSERT_TRUE(good);
  EXPECT_EQ(good->state.progress.steps, 6);
  EXPECT_EQ(good->state.rollbacks.count, 1);
  expect_finite("run/checkpoint-6");
  EXPECT_TRUE(contains(error_of(regression("run", overrides, kTwoBad)), "after 1 rollbacks"))
      << "a process that goes on counts what came before it";
}

TEST_F(StepFailuresTest, SpikesMayBringARollback) {
  const std::vector<std::string> spike = {"train.spike={sigma: 20, window: 8, action: rollback}",
                                          "train.save_every=3 steps"};
  const auto words = warnings(regression("straight", spike, kSpike));
  EXPECT_TRUE(contains(words, "rolled back: step 8: loss ")) << words;
  EXPECT_EQ(last_state("straight").rollbacks.count, 2);
  expect_same_when_stopped(spike, kSpike);
}

TEST_F(StepFailuresTest, KeysWithoutEffectAreRefused) {
  const auto refusal = [&](const std::string& override) {
    return test::message_of<config::Error>([&] { small_.config("mlm", "run", {override}); });
  };
  EXPECT_TRUE(contains(refusal("train.rollback.max_rollbacks=2"),
                       "train.rollback.max_rollbacks: has no effect here, only with `rollback` for "
                       "nan_policy.action or spike.action"));
  EXPECT_TRUE(contains(refusal("train.spike.window=20"), "only with a number for spike.sigma"));
  EXPECT_TRUE(contains(refusal("train.spike.sigma=0"), "train.spike.sigma: 0"))
      << refusal("train.spike.sigma=0");
  EXPECT_TRUE(contains(refusal("train.nan_policy.action=ignore"), "skip, rollback, stop"));
}

TEST(DetectSpike, IsRarerThanSigmaAndNeedsHalfAWindow) {
  const SpikeOptions options{.sigma = 3, .window = 4};
  LossHistory loss_history;
  const auto step = [](double loss, double norm) { return StepResult{.loss = loss, .norm = norm}; };
  record_step(loss_history, step(1, 1), options);
  EXPECT_FALSE(detect_spike(loss_history, step(100, 1), options)) << "one step is no window";
  record_step(loss_history, step(3, 1), options);
  // Losses with mean 2 and standard deviation 1; the norms are constant, so none is a spike.
  EXPECT_FALSE(detect_spike(loss_history, step(5, 100), options));
  EXPECT_TRUE(detect_spike(loss_history, step(5.1, 1), options));
  EXPECT_FALSE(detect_spike(loss_history, step(-100, 1), options)) << "low is no spike";
  EXPECT_FALSE(detect_spike(loss_history, step(100, 1), {.sigma = std::nullopt}));
  record_step(loss_history, step(1, 2), options);
  EXPECT_TRUE(
      detect_spike(loss_history, step(1, 100), options)->starts_with("gradient norm 100 is "));
  for (int i = 0; i < 9; ++i) {
    record_step(loss_history, step(i, i), options);
  }
  EXPECT_EQ(loss_history.losses, (std::vector<double>{5, 6, 7, 8}));
}

}  // namespace
}  // namespace weft::train
