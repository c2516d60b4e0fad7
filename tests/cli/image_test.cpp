#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/json_lines.h"
#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kImageConfig = R"(
model: {type: vit, image_size: 8, patch_size: 4, num_channels: 1, dim: 16, layers: 2, drop_path_rate: 0.1,
        attention: {heads: 2}, feed_forward: {width: 32}}
data:
  train: [{path: WORK/train.csv}]
  evaluate: [{path: WORK/test.csv}]
  num_workers: WORKERS
  augment: AUGMENT
objective: OBJECTIVE
train:
  duration: 60 steps
  batch_sequences: 16
  optimizer: {type: adamw, lr: 5e-3, layer_decay: 0.9}
  ema: {decay: 0.9}
  precision: fp32
  log_every: 1 steps
  save_every: 30 steps
  evaluate_every: 60 steps
  threads: 1
run: {directory: WORK/run, seed: 3, keep: {best: 0, last: 5}}
)";

/// Noisy images of 8 x 8 pixels, a row each: the upper half is bright in class 0, the lower in 1.
std::string halves(int images, uint32_t seed) {
  std::string rows;
  uint32_t state = seed;
  const auto draw = [&] { return (state = state * 1664525U + 1013904223U) >> 8; };
  for (int i = 0; i < images; ++i) {
    const int label = i % 2;
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        const bool is_bright = (y < 4) == (label == 0);
        rows += std::to_string((is_bright ? 120 : 0) + draw() % 130) + ",";
      }
    }
    rows += std::to_string(label) + "\n";
  }
  return rows;
}

class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    test::write(work_ / "train.csv", halves(96, 1));
    test::write(work_ / "test.csv", halves(40, 2));
  }

  test::ProcessResult train(const std::string& name,
                            const std::string& workers,
                            const std::vector<std::string>& more = {}) {
    std::string config = kImageConfig;
    for (const auto& [placeholder, value] :
         std::vector<std::pair<std::string, std::string>>{{"WORKERS", workers},
                                                          {"AUGMENT", augment_},
                                                          {"OBJECTIVE", objective_},
                                                          {"WORK", work_.path()}}) {
      config = test::filled(config, placeholder, value);
    }
    test::write(work_ / "config.yaml", config);
    std::vector<std::string> arguments = {"train", work_ / "config.yaml", "--output", work_ / name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::weft(arguments);
  }

  std::string weights(const std::string& name) const {
    return test::contents(work_ / (name + "/checkpoint-60/model.safetensors"));
  }

  std::string augment_ =
      "{pad_crop: 1, brightness: 0.2, cutmix: 0.5, mix_prob: 0.3, random_erase: 0.1}";
  std::string objective_ = "{type: classify}";
  test::TemporaryDirectory work_;
};

TEST_F(Images, AreLearntEvaluatedPredictedAndExported) {
  augment_ = "{brightness: 0.2, mixup: 0.2}";
  const auto done = train("run", "1");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto judged = test::weft({"evaluate", work_ / "run", "--data", work_ / "test.csv"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  EXPECT_GT(OrderedJson::parse(judged.out)["eval_accuracy"].get<double>(), 0.9) << judged.out;
  EXPECT_TRUE(fs::exists(work_ / "run/last/preprocessor_config.json"));

  std::string bytes = "P5 8 8 255\n";
  for (int i = 0; i < 64; ++i) {
    bytes.push_back(static_cast<char>(i < 32 ? 180 : 60));
  }
  test::write(work_ / "half.pgm", bytes);
  test::write(work_ / "ask.jsonl", "{\"image\": \"" + (work_ / "half.pgm") + "\"}\n");
  const auto said = test::weft({"predict", work_ / "run", "--input", work_ / "ask.jsonl"});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(test::json_lines<OrderedJson>(said.out)[0]["label"], "0");

  const auto out = test::weft({"export", work_ / "run", "--output", work_ / "out", "--check"});
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_TRUE(fs::exists(work_ / "out/preprocessor_config.json"));
  EXPECT_EQ(test::weft({"inspect", work_ / "run"}).status, 0);
}

TEST_F(Images, WorkersChangeNothing) {
  for (const auto* workers : {"0", "1", "3"}) {
    const auto done = train(workers, workers);
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(weights(workers), weights("0")) << workers;
  }
}

TEST_F(Images, ResumeIsExact) {
  ASSERT_EQ(train("straight", "1").status, 0);
  ASSERT_EQ(train("broken", "1").status, 0);
  fs::remove_all(work_ / "broken/checkpoint-60");
  const auto done = train("broken", "1", {"--resume", work_ / "broken/checkpoint-30"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(weights("broken"), weights("straight"));
}

TEST_F(Images, MaskedPatchesAreLearned) {
  objective_ = "{type: masked_image, mask_ratio: 0.5}";
  augment_ = "{flip: 0.5}";
  const auto done = train("run", "1");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto judged = test::weft({"evaluate", work_ / "run", "--data", work_ / "test.csv"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  EXPECT_LT(OrderedJson::parse(judged.out)["eval_loss"].get<double>(), 0.5) << judged.out;
  ASSERT_EQ(train("again", "3").status, 0);
  EXPECT_EQ(weights("again"), weights("run"));
  // A classifier for larger images is initialised with the trained weights.
  objective_ = "{type: classify}";
  const auto tuned = train(
      "tuned", "1", {"--set", "init_from=" + (work_ / "run"), "--set", "model.image_size=16"});
  ASSERT_EQ(tuned.status, 0) << tuned.err;
}

TEST_F(Images, ArePreviewedAndInspected) {
  ASSERT_EQ(train("run", "1", {"--dry-run"}).status, 0);
  const auto shown = test::weft({"data", "preview", work_ / "config.yaml", "--count", "2"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("train.csv, image "), std::string::npos) << shown.out;
  const auto counted = test::weft({"data", "inspect", work_ / "config.yaml"});
  ASSERT_EQ(counted.status, 0) << counted.err;
  EXPECT_NE(counted.out.find("96 of 96 images, 5 tokens each"), std::string::npos) << counted.out;
}

TEST_F(Images, WrongConfigsAreRefused) {
  const auto error = [&](const std::string& set) { return train("run", "1", {"--set", set}).err; };
  EXPECT_NE(error("model.image_size=9").find("not a multiple of the patch size 4"),
            std::string::npos);
  EXPECT_NE(error("objective={type: mlm}")
                .find("reads images; allowed are classify, distill, masked_image"),
            std::string::npos);
  EXPECT_NE(error("tokenizer={type: wordpiece}").find("has no tokenizer"), std::string::npos);
  EXPECT_NE(error("data.pack=stream").find("data.pack"), std::string::npos);
  EXPECT_NE(error("data.length=64").find("only with models for text"), std::string::npos);
  EXPECT_NE(error("data.augment={flip: 2}").find("data.augment.flip"), std::string::npos);
  const auto of_texts = error("model={preset: bert-tiny}");
  EXPECT_NE(of_texts.find("only with models for images"), std::string::npos) << of_texts;
}

}  // namespace
}  // namespace weft::cli
