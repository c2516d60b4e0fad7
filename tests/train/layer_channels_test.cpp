// Auxiliary losses of layers, and state that they carry from step to step, in whole runs.
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "nn/auxiliary_losses.h"
#include "nn/carried_state.h"
#include "nn/feed_forward/feed_forward.h"
#include "nn/linear.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

/// Top-1 routing to experts (arXiv:2101.03961) with the z-loss of the router (arXiv:2202.08906,
/// equation 5), which is a sum over tokens.
class SwitchFeedForward : public nn::FeedForward {
 public:
  SwitchFeedForward(const nn::FeedForwardOptions& options, int64_t experts) {
    router_ = register_module("router", nn::Linear(nn::LinearOptions{options.dim, experts, false}));
    for (int64_t i = 0; i < experts; ++i) {
      experts_.push_back(
          register_module("expert_" + std::to_string(i), nn::make_standard_feed_forward(options)));
    }
  }

  bool mixes_tokens() const override { return true; }  // the z-loss is of all tokens

  at::Tensor forward(const at::Tensor& x, const nn::ForwardContext& context) override {
    const auto logits = router_->forward(x, context).to(at::kFloat);  // (N, experts)
    if (context.auxiliary_losses != nullptr) {
      context.auxiliary_losses->add(
          {.name = "router_z_loss", .sum = logits.logsumexp(1).square().sum(), .weight = 0.05});
    }
    const auto [gate, expert] = logits.softmax(1).max(1);
    auto result = at::zeros_like(x);
    for (std::size_t i = 0; i < experts_.size(); ++i) {
      const auto rows = expert.eq(static_cast<int64_t>(i)).nonzero().squeeze(1);
      const auto y = experts_[i]->forward(x.index_select(0, rows), context);
      result = result.index_add(
          0, rows, (y * gate.index_select(0, rows).unsqueeze(1)).to(result.scalar_type()));
    }
    return result;
  }

 private:
  nn::Linear router_{nullptr};
  std::vector<std::shared_ptr<nn::FeedForward>> experts_;
};

nn::FeedForwardMaker read_switch(config::Section& section) {
  int64_t experts = 4;
  section.read("experts", experts, {.help = "Number of experts.", .range = config::between(1, 64)});
  return [experts](const nn::FeedForwardOptions& options) {
    return std::make_shared<SwitchFeedForward>(options, experts);
  };
}

/// A feed-forward whose output grows with the number of steps, which it carries as state.
class CountingFeedForward : public nn::FeedForward {
 public:
  explicit CountingFeedForward(const nn::FeedForwardOptions& options)
      : name_("layers." + std::to_string(options.layer)) {
    inner_ = register_module("inner", nn::make_standard_feed_forward(options));
  }

  at::Tensor forward(const at::Tensor& x, const nn::ForwardContext& context) override {
    auto steps = at::zeros({}, at::kFloat);
    if (context.carried_state != nullptr) {
      const auto carried = context.carried_state->get(kStream, name_);
      steps = carried.defined() ? carried : steps;
      context.carried_state->set(kStream, name_, steps + 1);
    }
    return inner_->forward(x, context) * (1 + 0.1 * steps);
  }

 private:
  static constexpr int64_t kStream = 3;
  std::string name_;
  std::shared_ptr<nn::FeedForward> inner_;
};

nn::FeedForwardMaker read_counting(config::Section& /*section*/) {
  return [](const nn::FeedForwardOptions& options) {
    return std::make_shared<CountingFeedForward>(options);
  };
}

const std::string kSwitch = "model.feed_forward={type: switch, experts: 3, width: 16}";

class LayerChannels : public ::testing::Test {
 protected:
  LayerChannels() {
    log::set_level(log::Level::kError);
    static std::once_flag once;
    std::call_once(once, [] {
      nn::register_feed_forward({"switch", read_switch});
      nn::register_feed_forward({"counting", read_counting});
    });
  }

  void train(const std::string& directory, const std::vector<std::string>& overrides) const {
    auto all = overrides;
    all.push_back(kSwitch);
    run_training(small_.config("mlm", directory, all), {});
  }

  /// A run that stops after 4 of 8 steps and is resumed equals one that does not.
  void expect_exact_resume(const std::vector<std::string>& overrides) const {
    run_training(small_.config("mlm", "straight", overrides), {});
    ASSERT_TRUE(test::train_until(small_.config("mlm", "resumed", overrides), 4));
    run_training(small_.config("mlm", "resumed", overrides), {});
    EXPECT_EQ(small_.metrics("straight"), small_.metrics("resumed"));
    EXPECT_TRUE(small_.file("straight/checkpoint-8/model.safetensors") ==
                small_.file("resumed/checkpoint-8/model.safetensors"));
  }

  test::SmallRun small_;
};

TEST_F(LayerChannels, AuxiliaryLossesAreLoggedByNameAndTrained) {
  train("plain", {"train.log_every=1 steps", "train.duration=20 steps"});
  const auto losses = small_.values("plain", "train/router_z_loss");
  ASSERT_EQ(losses.size(), 20U);
  EXPECT_NEAR(losses.at(1), 2 * std::pow(std::log(3.0), 2), 0.1) << "two layers, uniform routing";
  EXPECT_LT(losses.at(20), losses.at(1));
}

TEST_F(LayerChannels, AuxiliaryLossesDoNotDependOnMicroBatches) {
  const std::string log = "train.log_every=1 steps";
  train("whole", {log});
  train("parts", {log, "train.micro_batch_tokens=24"});
  for (const std::string tag : {"train/loss", "train/router_z_loss"}) {
    const auto whole = small_.values("whole", tag);
    const auto parts = small_.values("parts", tag);
    ASSERT_EQ(whole.size(), 8U);
    for (const auto& [step, value] : whole) {
      EXPECT_NEAR(parts.at(step), value, 1e-4 * value) << tag << " at step " << step;
    }
  }
}

TEST_F(LayerChannels, AuxiliaryLossesResumeExactly) { expect_exact_resume({kSwitch}); }

TEST_F(LayerChannels, CarriedStateIsSavedAndResumesExactly) {
  const std::string counting = "model.feed_forward={type: counting, width: 16}";
  expect_exact_resume({counting, "train.micro_batch_tokens=40"});
  const auto state = load_carried_state(small_.path("resumed/checkpoint-8"));
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state.at("3/layers.1").item<float>(), 8);
}

TEST_F(LayerChannels, CarriedStateIsThatOfCommittedStepsWithActivationCheckpointing) {
  const std::string counting = "model.feed_forward={type: counting, width: 16}";
  run_training(small_.config("mlm", "plain", {counting}), {});
  run_training(
      small_.config("mlm", "recomputed", {counting, "train.gradient_checkpointing=layers"}), {});
  EXPECT_TRUE(small_.file("plain/checkpoint-8/model.safetensors") ==
              small_.file("recomputed/checkpoint-8/model.safetensors"));
}

}  // namespace
}  // namespace weft::train
