// train.gradient_checkpointing in complete runs.
#include <string>

#include <gtest/gtest.h>

#include "base/log.h"
#include "support/config.h"
#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

const std::string kLayers = "train.gradient_checkpointing=layers";

class CheckpointActivations : public ::testing::Test {
 protected:
  CheckpointActivations() { log::set_level(log::Level::kError); }

  void train(const std::string& kind,
             const std::string& directory,
             const std::vector<std::string>& overrides) const {
    run_training(small_.config(kind, directory, overrides), {});
  }
  std::string weights(const std::string& directory) const {
    return small_.file(directory + "/checkpoint-8/model.safetensors");
  }

  test::SmallRun small_;
};

TEST_F(CheckpointActivations, DoesNotChangeTheRunByABit) {
  for (const std::string precision : {"fp32", "bf16"}) {
    for (const std::string kind : {"pairs", "classify"}) {
      const auto name = kind + precision;
      const std::vector<std::string> overrides = {"train.precision=" + precision,
                                                  "train.micro_batch_tokens=48"};
      train(kind, name, overrides);
      auto again = overrides;
      again.push_back(kLayers);
      train(kind, name + "again", again);
      EXPECT_FALSE(weights(name).empty());
      EXPECT_TRUE(weights(name) == weights(name + "again")) << name;
      EXPECT_EQ(small_.metrics(name), small_.metrics(name + "again"));
    }
  }
}

TEST_F(CheckpointActivations, ARunMayResumeWithTheOther) {
  train("mlm", "straight", {});
  ASSERT_TRUE(test::train_until(small_.config("mlm", "parts", {}), 4));
  train("mlm", "parts", {kLayers});
  EXPECT_TRUE(weights("straight") == weights("parts"));
}

TEST_F(CheckpointActivations, ModelsWithoutLayersRefuseIt) {
  const auto message = test::message_of<config::Error>([&] {
    small_.config("classify", "run",
                  {kLayers, "model={type: bag_of_words}", "train.precision=auto"});
  });
  EXPECT_NE(message.find(
                "train.gradient_checkpointing: layers, but this model has no layers, must be none"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace weft::train
