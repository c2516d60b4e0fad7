#include "train/run/run_config.h"

#include <string>

#include <gtest/gtest.h>

#include "support/config.h"
#include "support/folder.h"

namespace weft::train {
namespace {

class RunConfigTest : public ::testing::Test {
 protected:
  RunConfigTest() { folder_.write("a.txt", "some text\n"); }

  RunConfig read(const std::vector<std::string>& overrides = {}) const {
    const auto yaml =
        "model: {preset: bert-tiny}\ntokenizer: {type: wordpiece, vocab_size: 400}\ndata:\n  "
        "train: [{path: " +
        folder_.path("a.txt") + "}]\nobjective: {type: mlm}\n";
    return read_run_config(config::Document::parse(yaml, "run.yaml", overrides));
  }
  std::string refusal(const std::vector<std::string>& overrides) const {
    return test::message_of<config::Error>([&] { read(overrides); });
  }
  static bool has(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
  }

  test::Folder folder_;
};

TEST_F(RunConfigTest, DefaultsMakeARun) {
  const auto config = read();
  EXPECT_EQ(config.train.batch_tokens, 8192);
  EXPECT_FALSE(config.train.batch_sequences);
  EXPECT_EQ(config.train.duration, (config::Duration{3, config::DurationUnit::kEpochs}));
  EXPECT_EQ(config.run.keep_last, 2);
}

TEST_F(RunConfigTest, ResolvedConfigReadsBackToItself) {
  for (const auto& overrides : std::vector<std::vector<std::string>>{
           {},
           {"train.batch_sequences=8", "train.evaluate_every=never", "train.save_every=never",
            "train.clip_norm=null"},
           {"train.optimizer={type: sgd, momentum: 0.5}",
            "train.schedule={type: polynomial, power: 2, min_lr_ratio: 0.1}"},
           {"train.freeze=[embeddings, layers.0-0]", "train.ema={decay: 0.99, warmup: false}",
            "train.optimizer={layer_decay: 0.9, head_lr: 1e-3}"},
           {"train.schedule={type: warmup_stable_decay, decay: 1 epochs}"}}) {
    const auto config = read(overrides);
    const auto again = read_run_config(config::Document::parse(config.resolved, "again.yaml"));
    EXPECT_EQ(again.resolved, config.resolved);
  }
}

TEST_F(RunConfigTest, TheTokenizerMayBeOmitted) {
  const auto tokenizer = [&](const std::string& model, const std::string& objective) {
    const auto yaml = "model: {" + model + "}\ndata: {train: [{path: " + folder_.path("a.txt") +
                      "}]}\nobjective: {type: " + objective + "}\n";
    const auto config = read_run_config(config::Document::parse(yaml, "run.yaml"));
    const auto again = read_run_config(config::Document::parse(config.resolved, "again.yaml"));
    EXPECT_EQ(again.resolved, config.resolved);
    return again.tokenizer;
  };
  using Type = data::TokenizerType;
  EXPECT_EQ(tokenizer("preset: bert-tiny", "mlm").type, Type::kWordPiece);
  EXPECT_EQ(tokenizer("preset: gpt-mini", "causal").type, Type::kByteLevelBpe);
  EXPECT_EQ(tokenizer("preset: t5-mini", "span_corruption").type, Type::kUnigram);
  EXPECT_EQ(tokenizer("preset: bert-tiny", "mlm").vocab_size, 1000);
  folder_.write("a.txt", std::string(4'000'000, 'a') + "\n");
  EXPECT_EQ(tokenizer("preset: bert-tiny", "mlm").vocab_size, 8000);
}

TEST_F(RunConfigTest, AThresholdIsTunedInEvaluationsOnly) {
  const auto message =
      refusal({"objective={type: classify, tune_threshold: f1}", "train.evaluate_every=never"});
  EXPECT_TRUE(has(message, "objective.tune_threshold: train.evaluate_every is never")) << message;
}

TEST_F(RunConfigTest, TakesEverySeedOf63Bits) {
  EXPECT_EQ(read({"run.seed=4294967295"}).run.seed, 4294967295);
  EXPECT_EQ(read({"run.seed=9223372036854775807"}).run.seed, 9223372036854775807);
  EXPECT_TRUE(has(refusal({"run.seed=-1"}), "run.seed: "));
}

TEST_F(RunConfigTest, RefusesAWarmupLongerThanTheRun) {
  const auto message = refusal({"train.duration=100 steps", "train.schedule.warmup=200 steps"});
  EXPECT_TRUE(has(message,
                  "train.schedule.warmup: the warm-up of 200 steps is longer than the run, whose "
                  "duration is 100 steps"))
      << message;
}

TEST_F(RunConfigTest, RefusesTwoBatchSizes) {
  const auto message = refusal({"train.batch_tokens=64", "train.batch_sequences=8"});
  EXPECT_TRUE(has(message, "batch_tokens and batch_sequences are mutually exclusive")) << message;
}

TEST_F(RunConfigTest, RefusesKeysOfAnotherType) {
  EXPECT_TRUE(
      has(refusal({"train.optimizer={type: sgd, betas: [0.9, 0.9]}"}), "only with type: adamw"));
  EXPECT_TRUE(has(refusal({"train.schedule={type: constant, min_lr_ratio: 0.1}"}),
                  "train.schedule.min_lr_ratio"));
}

TEST_F(RunConfigTest, RefusesWhatDocumentsCannotDo) {
  const auto of = [&](const std::string& keys, const std::string& objective) {
    return refusal({"model={type: bert, document: {type: hibert" + keys + "}}",
                    "objective={type: " + objective + "}"});
  };
  EXPECT_TRUE(
      has(of("", "mlm"),
          "mlm cannot train a model of type bert, which reads documents sentence by sentence "
          "(model.document); allowed are classify, regress, tag, masked_sentence"))
      << of("", "mlm");
  EXPECT_TRUE(has(of(", decoder_layers: 1", "tag"),
                  "model.document.decoder_layers: has no effect here, only with objective.type: "
                  "masked_sentence"))
      << of(", decoder_layers: 1", "tag");
  EXPECT_TRUE(has(of("", "tag, label_all_tokens: true"),
                  "objective.label_all_tokens: has no effect with model.document"));
  EXPECT_TRUE(has(of(", pooling: max", "tag"),
                  "model.document.pooling: has no effect here, only with objective.type: classify "
                  "or regress"))
      << of(", pooling: max", "tag");
  EXPECT_NO_THROW(read({"model={type: bert, document: {type: hibert}}", "objective={type: tag}"}));
}

TEST_F(RunConfigTest, InitFromMustExist) {
  const auto message = refusal({"init_from=" + folder_.path("nothing")});
  EXPECT_TRUE(has(message, "init_from: ") && has(message, "does not exist")) << message;
}

TEST_F(RunConfigTest, DescribesItsKeysWithoutAFile) {
  EXPECT_NO_THROW(describe_run_config(config::Section::for_documentation()));
}

}  // namespace
}  // namespace weft::train
