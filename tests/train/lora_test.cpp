#include <filesystem>
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/directory.h"
#include "models/weights/tensors.h"
#include "support/config.h"
#include "support/tensor_file.h"
#include "train/cost/cost.h"
#include "train/run/train.h"
#include "train/small_run.h"
#include "train/step/run_components.h"

namespace weft::train {
namespace {

using test::Tensors;

/// Classifiers with adapters, from a small model that two steps have trained.
class LoraRunTest : public ::testing::Test {
 protected:
  LoraRunTest() {
    log::set_level(log::Level::kError);
    run_training(small_.config("mlm", "base", {"train.duration=2 steps"}), {});
  }

  RunConfig config(const std::string& directory,
                   const std::vector<std::string>& overrides = {}) const {
    const auto data = [&](const std::string& name) {
      return "[{path: " + small_.path(name) + "}]";
    };
    const auto yaml = "init_from: " + small_.path("base") +
                      "\n"
                      "data: {train: " +
                      data("train.tsv") + ", evaluate: " + data("held_out.tsv") +
                      "}\n"
                      "objective: {type: classify}\n"
                      "train:\n"
                      "  duration: 8 steps\n"
                      "  batch_tokens: 96\n"
                      "  optimizer: {type: adamw, lr: 1e-2}\n"
                      "  lora: {rank: 2, alpha: 4, dropout: 0.1}\n"
                      "  precision: fp32\n"
                      "  log_every: 2 steps\n"
                      "  evaluate_every: 4 steps\n"
                      "  threads: 1\n"
                      "run: {directory: " +
                      small_.path(directory) +
                      ", seed: 7, device: cpu, keep: {best: 1, last: 9}}\n";
    return read_run_config(config::Document::parse(yaml, "lora.yaml", overrides));
  }

  Tensors read(const std::string& path) const { return test::read_tensors(small_.path(path)); }

  void expect_exact_resume(const std::vector<std::string>& overrides) {
    run_training(config("straight", overrides), {});
    ASSERT_TRUE(test::train_until(config("parts", overrides), 3));
    run_training(config("parts", overrides), {});
    for (const auto* name :
         {"model.safetensors", "training/optimizer.safetensors", "training/lora.safetensors",
          "adapter/adapter_model.safetensors", "adapter/adapter_config.json"}) {
      const auto straight = small_.file(std::string("straight/checkpoint-8/") + name);
      EXPECT_FALSE(straight.empty()) << name;
      EXPECT_TRUE(straight == small_.file(std::string("parts/checkpoint-8/") + name)) << name;
    }
    EXPECT_EQ(small_.metrics("straight"), small_.metrics("parts"));
  }

  test::SmallRun small_;
};

TEST_F(LoraRunTest, ResumesBitForBitInFp32) { expect_exact_resume({}); }

TEST_F(LoraRunTest, ResumesBitForBitInBf16) { expect_exact_resume({"train.precision=bf16"}); }

TEST_F(LoraRunTest, ResumesBitForBitWithAnAverage) {
  expect_exact_resume({"train.ema.decay=0.9", "train.lora.target_modules=[all-linear]"});
}

TEST_F(LoraRunTest, OptimizerHasOnlyAdaptersHeadAndNewParts) {
  run_training(config("run"), {});
  int64_t adapters = 0;
  int64_t others = 0;
  for (const auto& [name, tensor] : read("run/checkpoint-8/training/optimizer.safetensors")) {
    const bool is_whole =
        name.find(".head.") != std::string::npos || name.find(".pooler.") != std::string::npos;
    EXPECT_TRUE(is_whole || name.find(".lora_") != std::string::npos) << name;
    (is_whole ? others : adapters) += tensor.numel();
  }
  EXPECT_EQ(adapters, 2 * 2 * 2 * 2 * (16 + 16));  // moments, layers, targets, rank
  // The base has a different head and no pooler: both are newly initialised.
  EXPECT_EQ(others, 2 * (16 * 16 + 16 + 2 * 16 + 2));
}

TEST_F(LoraRunTest, CheckpointIsTheBaseAndTheAdaptersProducts) {
  run_training(config("run"), {});
  const auto base = read("base/last/model.safetensors");
  const auto merged = read("run/checkpoint-8/model.safetensors");
  const auto adapter = read("run/checkpoint-8/adapter/adapter_model.safetensors");
  bool is_changed = false;
  for (const auto& [name, tensor] : base) {
    if (!merged.contains(name)) {
      continue;
    }
    const auto module = "base_model.model." + name.substr(0, name.rfind('.'));
    if (!name.ends_with(".weight") || !adapter.contains(module + ".lora_A.weight")) {
      EXPECT_TRUE(at::equal(merged.at(name), tensor)) << name;
      continue;
    }
    const auto product =
        2 * at::mm(adapter.at(module + ".lora_B.weight"), adapter.at(module + ".lora_A.weight"));
    EXPECT_TRUE(at::allclose(merged.at(name), tensor + product, 0, 1e-6)) << name;
    is_changed = is_changed || product.abs().max().item<double>() > 1e-3;
  }
  EXPECT_TRUE(is_changed);
  const auto json = formats::read_json(small_.path("run/checkpoint-8/adapter/adapter_config.json"));
  EXPECT_EQ(json.at("modules_to_save").dump(), "[\"pooler\",\"classifier\"]");
  EXPECT_EQ(json.at("base_model_name_or_path"), small_.path("base/last"));
  EXPECT_EQ(json.at("task_type"), "SEQ_CLS");
}

TEST_F(LoraRunTest, OnlyAdaptersLearnTheRows) {
  run_training(config("run", {"train.duration=200 steps", "train.log_every=10 steps",
                              "train.evaluate_every=never", "train.optimizer.lr=4e-3",
                              "train.lora={rank: 8, alpha: 16, target_modules: [all-linear]}",
                              "model.dropout=0", "model.attention.dropout=0"}),
               {});
  const auto loss = small_.values("run", "train/loss");
  EXPECT_GT(loss.at(10), 0.6);
  EXPECT_LT(loss.at(200), 0.2);
}

TEST_F(LoraRunTest, CostCountsWhatIsTrained) {
  auto run = config("run");
  run.model = options_without_data(run);
  const auto cost = cost_of(run, 32, at::kFloat);
  const int64_t trained = 2 * 2 * 2 * (16 + 16) + 2 * 16 + 2;  // layers, targets, rank; head
  EXPECT_EQ(cost.trained_parameters, trained);
  EXPECT_NEAR(cost.optimizer_bytes, 8.0 * static_cast<double>(trained),
              32 * 1024);  // layers are aligned
  EXPECT_TRUE(cost.step) << cost.why_not_measured;
}

TEST_F(LoraRunTest, RefusesWhatDoesNotGoTogether) {
  const auto message = [&](const std::vector<std::string>& overrides) {
    return test::message_of<config::Error>([&] { config("run", overrides); });
  };
  EXPECT_NE(
      message({"train.lora.target_modules=[querry]"})
          .find("train.lora: target_modules: 'querry' is not one of all-linear, query, key, value, "
                "dense; did you mean 'query'?"),
      std::string::npos)
      << message({"train.lora.target_modules=[querry]"});
  EXPECT_NE(message({"train.freeze=[embeddings]"}).find("cannot be combined with lora"),
            std::string::npos);
  EXPECT_NE(message({"train.lora.rank=null"}).find("has no effect without a rank"),
            std::string::npos);
  EXPECT_NE(test::message_of<config::Error>([&] {
              small_.config("classify", "run", {"train.lora.rank=2"});
            }).find("init_from is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::train
