// Optimizers and schedules from outside. They stay registered as long as the program, so their
// tests are separate from those that expect the lists of all types in messages.
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/stop.h"
#include "support/config.h"
#include "train/forked_runs.h"
#include "train/optimizer/optimizer_registry.h"
#include "train/optimizer/schedule.h"
#include "train/optimizer/schedule_registry.h"
#include "train/optimizer/variant_registry.h"
#include "train/run/reproduce.h"

namespace weft::train {
namespace {

// Shapes that the optimizer below saw, by parameter.
std::map<std::string, std::vector<int64_t>>& shapes_seen() {
  static std::map<std::string, std::vector<int64_t>> shapes;
  return shapes;
}

struct NormalizedOptions {
  double beta = 0.5;
};

// Moves every parameter along its momentum, divided by the norm of that parameter: needs shapes.
void update_normalized(const NormalizedOptions& options, const SegmentUpdate& update) {
  for (const auto& member : update.segment.members) {
    shapes_seen()[member.name] = member.shape;
    const auto momentum = member.view(update.state[0]);
    const auto gradient = update.gradient(member.begin, member.count).view(member.shape);
    momentum.mul_(options.beta).add_(gradient);
    member.view(update.slice.master)
        .sub_(momentum / (momentum.norm() + 1e-12) * update.lr)
        .mul_(1 - update.lr * update.weight_decay);
  }
}

class RegistryTest : public test::ForkedRuns {
 protected:
  static void SetUpTestSuite() {
    register_optimizer(define_optimizer<NormalizedOptions>(
        {.name = "test_normalized", .state = {"test_momentum"}},
        [](config::Section& section, NormalizedOptions& options) {
          section.read("beta", options.beta,
                       {.help = "Decay of the momentum.", .range = config::half_open(0, 1)});
        },
        update_normalized));
  }

  std::string mistake(const std::string& key) const {
    return test::message_of<config::Error>([&] { small_.config("mlm", "run", {key}); });
  }
};

TEST_F(RegistryTest, AnOptimizerFromOutsideTrainsAndResumesByItsConfig) {
  const std::vector<std::string> keys = {
      "train.optimizer={type: test_normalized, beta: 0.9, lr: 0.05}", "train.precision=bf16",
      "train.log_every=1 steps"};
  const auto path = small_.path("shapes");
  const auto write = [&] {
    const auto& shapes = shapes_seen();
    std::ofstream file(path);
    for (const auto* name : {"layers.0.feed_forward.up.weight", "layers.0.feed_forward.up.bias"}) {
      for (const auto size : shapes.at(name)) {
        file << size << " ";
      }
    }
  };
  ASSERT_EQ(train(small_.config("mlm", "whole", keys), {.end = write}), test::kDone)
      << stderr_text();
  EXPECT_EQ(small_.file("shapes"), "32 16 32 ");
  const auto losses = small_.values("whole", "train/loss");
  EXPECT_LT(losses.at(8), losses.at(1) - 0.05);

  const auto halves = small_.config("mlm", "halves", keys);
  const TrainRequest until_4 = {
      .on_step = [](const TrainState& state) { request_stop(state.progress.steps == 4); }};
  ASSERT_EQ(train(halves, {.request = until_4}), test::kStopped) << stderr_text();
  ASSERT_EQ(train(halves), test::kDone) << stderr_text();
  const auto comparison = compare_runs(small_.path("whole"), small_.path("halves"), 8);
  EXPECT_GT(comparison.tensors, 20);
  for (const auto& difference : comparison.differences) {
    ADD_FAILURE() << difference;
  }
}

TEST_F(RegistryTest, AnOptimizerFromOutsideHasKeysOfItsOwn) {
  EXPECT_NE(mistake("train.optimizer.beta=0.9")
                .find("has no effect here, only with type: test_normalized"),
            std::string::npos);
  EXPECT_NE(mistake("train.optimizer={type: test_normalised, beta: 0.9}")
                .find("did you mean 'test_normalized'?"),
            std::string::npos);
}

TEST_F(RegistryTest, ANameIsTakenOnce) {
  EXPECT_EQ(test::message_of<std::invalid_argument>([] { register_optimizer({.name = "sgd"}); }),
            "optimizer 'sgd' is already registered, choose another name");
  EXPECT_EQ(test::message_of<std::invalid_argument>([] { register_schedule({.name = "linear"}); }),
            "schedule 'linear' is already registered, choose another name");
}

TEST_F(RegistryTest, AnUnknownNameIsRefusedWithTheNearest) {
  const auto message =
      test::message_of<std::invalid_argument>([] { optimizer_registry().at("adam"); });
  EXPECT_NE(message.find("optimizer 'adam' is not one of adamw, sgd, lion"), std::string::npos);
  EXPECT_NE(message.find("did you mean 'adamw'?"), std::string::npos);
}

TEST_F(RegistryTest, AScheduleFromOutsideIsReadAndFollowed) {
  struct Steps {
    int64_t length = 10;
  };
  register_schedule(define_schedule<Steps>(
      {.name = "test_steps"},
      [](config::Section& section, Steps& options, const ScheduleLimits& /*limits*/) {
        section.read("length", options.length, {.help = "Length of a step of the staircase."});
      },
      [](const Steps& options, double at, const ScheduleSpan& /*span*/) {
        return std::pow(0.5, std::floor(at / static_cast<double>(options.length)));
      }));
  const auto options = read_schedule_options(
      test::section("train.schedule", {{"type", "test_steps"}, {"length", "4"}}), {.amount = 100});
  LearningRate rate(options, {.amount = 100}, 1.0);
  EXPECT_EQ(rate.at({.steps = 3}), 1.0);
  EXPECT_EQ(rate.at({.steps = 9}), 0.25);
  EXPECT_NE(mistake("train.schedule={type: linear, length: 4}")
                .find("length: has no effect here, only with type: test_steps"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::train
