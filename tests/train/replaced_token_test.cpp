#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "formats/json.h"
#include "models/generator.h"
#include "objectives/objectives.h"
#include "support/config.h"
#include "support/tensor_file.h"
#include "train/checkpoint/checkpoint.h"
#include "train/cost/cost.h"
#include "train/optimizer/flat_parameters.h"
#include "train/run/train.h"
#include "train/small_run.h"
#include "train/step/evaluate_directory.h"
#include "train/step/run_components.h"

namespace weft::train {
namespace {

class ReplacedTokenRun : public ::testing::Test {
 protected:
  ReplacedTokenRun() { log::set_level(log::Level::kError); }

  RunConfig config(const std::string& directory, std::vector<std::string> more = {}) const {
    std::vector<std::string> overrides = {
        "model={type: electra, dim: 16, embedding_size: 8, layers: 2, attention: {heads: 2}, "
        "position: {length: 32}, feed_forward: {width: 32}}",
        "objective={type: replaced_token, generator: {size_ratio: 0.5, layers: 1}}",
        "train.log_every=1 steps"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return small_.config("mlm", directory, overrides);
  }

  /// A run initialised with the weights of another.
  RunConfig continued(const std::string& from,
                      const std::string& directory,
                      const std::vector<std::string>& more = {}) const {
    const auto text = "init_from: " + small_.path(from) +
                      "\ndata: {train: [{path: " + small_.path("train.txt") +
                      "}], evaluate: [{path: " + small_.path("held_out.txt") +
                      "}]}\nobjective: {type: replaced_token}\ntrain: {duration: 1 steps, "
                      "batch_tokens: 96, precision: fp32, threads: 1, optimizer: {lr: 1e-9}}\n"
                      "run: {directory: " +
                      small_.path(directory) + ", seed: 7, device: cpu}\n";
    return read_run_config(config::Document::parse(text, "continued.yaml", more));
  }

  Metrics evaluated(const std::string& directory,
                    const std::vector<std::string>& overrides = {}) const {
    return evaluate_directory(small_.path(directory), {small_.path("held_out.txt")}, {}, overrides);
  }

  test::Tensors weights(const std::string& directory) const {
    return test::read_tensors(small_.path(directory) + "/model.safetensors");
  }

  test::SmallRun small_;
};

TEST_F(ReplacedTokenRun, LogsBothLossesAndDiscriminatorMetrics) {
  run_training(config("run", {"train.evaluate_every=4 steps", "train.log_every=2 steps"}), {});
  const auto lines = small_.metrics("run");
  int64_t trained = 0;
  for (const auto& line : lines) {
    for (const std::string place : {"train/", "eval/"}) {
      if (!line.contains(place + "loss")) {
        continue;
      }
      ++trained;
      const auto value = [&](const char* name) { return line.at(place + name).get<double>(); };
      // Sums over two steps; the loss is their mean, because the steps are equal.
      EXPECT_NEAR(value("loss"), value("generator_loss") + 50 * value("discriminator_loss"), 0.2);
      for (const auto* share : {"generator_accuracy", "discriminator_accuracy",
                                "discriminator_precision", "discriminator_recall"}) {
        EXPECT_GE(value(share), 0);
        EXPECT_LE(value(share), 1);
      }
      EXPECT_GT(value("replaced_share"), 0.02);
      EXPECT_LT(value("replaced_share"), 0.25);
    }
  }
  EXPECT_EQ(trained, 6);  // 2, 4, 6, 8 and evaluations of 4 and 8
}

/// Two colours with their animals, and a verb that hangs on both.
std::string patterned_texts() {
  const std::vector<std::string> colors = {"red", "green", "blue", "grey", "white"};
  const std::vector<std::string> animals = {"fox", "frog", "whale", "wolf", "hare"};
  const std::vector<std::string> verbs = {"sees", "hears", "finds", "wants", "likes"};
  std::string texts;
  for (std::size_t i = 0; i < 200; ++i) {
    const auto one = (i * 7 + i / 5) % 5;
    const auto two = (i * 3 + i / 11) % 5;
    texts += "the " + colors[one] + " " + animals[one] + " " + verbs[(one + two) % 5] + " the " +
             colors[two] + " " + animals[two] + " .\n\n";
  }
  return texts;
}

TEST_F(ReplacedTokenRun, TheDiscriminatorLearnsWhatDoesNotFit) {
  small_.folder().write("pattern.txt", patterned_texts());
  const auto file = "=[{path: " + small_.path("pattern.txt") + "}]";
  run_training(config("run", {"data.train" + file, "data.evaluate" + file,
                              "tokenizer.vocab_size=60", "model.dropout=0", "model.dim=32",
                              "model.embedding_size=32", "train.optimizer.lr=5e-3",
                              "train.duration=400 steps", "train.batch_tokens=512",
                              "train.log_every=100 steps", "train.evaluate_every=400 steps"}),
               {});
  const auto last = [&](const char* name) { return small_.values("run", name).at(400); };
  // Always predicting the fraction of replaced tokens, 0.12, gives a loss of 0.36 and finds none.
  EXPECT_LT(last("eval/discriminator_loss"), 0.28);
  EXPECT_GT(last("eval/discriminator_precision"), 0.8);
  EXPECT_GT(last("eval/discriminator_recall"), 0.25);
  EXPECT_LT(last("eval/generator_loss"), 2.6);
}

TEST_F(ReplacedTokenRun, CheckpointHasTwoModelDirectories) {
  run_training(config("run"), {});
  const auto checkpoint = small_.path("run") + "/checkpoint-8";
  const auto architecture = [](const std::string& directory) {
    return formats::read_json(directory + "/config.json").at("architectures").at(0);
  };
  EXPECT_EQ(architecture(checkpoint), "ElectraForPreTraining");
  EXPECT_EQ(architecture(checkpoint + "/generator"), "ElectraForMaskedLM");
  const auto both = weights("run/checkpoint-8");
  const auto generator = weights("run/checkpoint-8/generator");
  for (const auto* name : {"word_embeddings", "position_embeddings", "token_type_embeddings"}) {
    const auto key = std::string("electra.embeddings.") + name + ".weight";
    EXPECT_TRUE(both.at(key).equal(generator.at(key))) << name;
  }
  EXPECT_EQ(generator.at("electra.encoder.layer.0.attention.self.query.weight").size(0), 8);
  for (const auto* file : {"tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_EQ(test::Folder::read(checkpoint + "/" + file),
              test::Folder::read(checkpoint + "/generator/" + file));
  }
  verify_manifest(checkpoint);
  test::Folder::write_to(checkpoint + "/generator/config.json", "{}");
  EXPECT_THROW(verify_manifest(checkpoint), UserError);
}

TEST_F(ReplacedTokenRun, EachModelOfACheckpointIsEvaluatedByItself) {
  run_training(config("run", {"train.evaluate_every=8 steps"}), {});
  const auto metrics = evaluated("run");
  for (const auto& [name, value] : metrics) {
    EXPECT_NEAR(value, small_.values("run", "eval/" + name.substr(5)).at(8), 1e-5) << name;
  }
  const auto generator_metrics =
      evaluated("run/checkpoint-8/generator",
                {"objective.mask_token_prob=1", "objective.random_token_prob=0", "run.seed=7"});
  EXPECT_NEAR(generator_metrics.at("eval_loss"), metrics.at("eval_generator_loss"), 1e-5);
  EXPECT_NEAR(generator_metrics.at("eval_mlm_accuracy"), metrics.at("eval_generator_accuracy"),
              1e-9);
}

TEST_F(ReplacedTokenRun, BeginsWithBothModelsOfAnother) {
  run_training(config("base"), {});
  run_training(continued("base", "next"), {});
  const auto before = weights("base/checkpoint-8/generator");
  for (const auto& [name, tensor] : weights("next/checkpoint-1/generator")) {
    EXPECT_TRUE(at::allclose(tensor, before.at(name), 0, 1e-6)) << name;
  }
  std::filesystem::remove_all(small_.path("base") + "/checkpoint-8/generator");
  run_training(continued("base", "alone", {"objective.generator={dim: 4, heads: 1}"}), {});
  const auto fresh = weights("alone/checkpoint-1/generator");
  EXPECT_EQ(fresh.at("electra.encoder.layer.1.attention.self.query.weight").size(0), 4);
  EXPECT_TRUE(at::allclose(fresh.at("electra.embeddings.word_embeddings.weight"),
                           before.at("electra.embeddings.word_embeddings.weight"), 0, 1e-6));
}

TEST_F(ReplacedTokenRun, AGeneratorWithOtherEmbeddingsIsRefused) {
  run_training(config("a"), {});
  run_training(config("b", {"run.seed=8"}), {});
  const auto of_a = small_.path("a") + "/checkpoint-8/generator";
  std::filesystem::remove_all(of_a);
  std::filesystem::copy(small_.path("b") + "/checkpoint-8/generator", of_a);
  const auto message = test::message_of<UserError>([&] { evaluated("a"); });
  EXPECT_NE(message.find("differs from that of"), std::string::npos) << message;
  std::filesystem::remove_all(of_a);
  const auto missing = test::message_of<UserError>([&] { evaluated("a"); });
  EXPECT_NE(missing.find("must be the discriminator's generator"), std::string::npos) << missing;
}

TEST_F(ReplacedTokenRun, ThreadsChangeNoBit) {
  for (const auto* precision : {"fp32", "bf16"}) {
    const auto name = std::string(precision);
    run_training(config(name + "1", {"train.precision=" + name, "train.threads=1"}), {});
    run_training(config(name + "2", {"train.precision=" + name, "train.threads=2"}), {});
    for (const auto* model : {"", "generator/"}) {
      const auto file = "/checkpoint-8/" + std::string(model) + "model.safetensors";
      EXPECT_TRUE(small_.file(name + "1" + file) == small_.file(name + "2" + file)) << file;
    }
  }
}

TEST_F(ReplacedTokenRun, WhatIsFrozenStays) {
  const std::string frozen = "train.freeze=[generator.layers, embeddings]";
  run_training(config("few", {frozen, "train.duration=2 steps"}), {});
  run_training(config("many", {frozen}), {});
  const auto few = weights("few/checkpoint-2/generator");
  const auto many = weights("many/checkpoint-8/generator");
  for (const auto& [name, tensor] : few) {
    const bool is_frozen = name.find("encoder.layer") != std::string::npos ||
                           name.find("electra.embeddings.") != std::string::npos;
    EXPECT_EQ(tensor.equal(many.at(name)), is_frozen) << name;
  }
}

TEST_F(ReplacedTokenRun, CostCountsEachParameterOnce) {
  auto given = config("run");
  given.model = options_without_data(given);
  const auto model = models::make_model(given.model, 1);
  models::make_generator(*model, *given.objective->generator_options(given.model), 1);
  const FlatParameters flat_parameters(*model, at::kFloat, DecayOn::kMatrices);
  const auto cost = cost_of(given, 32, at::kFloat);
  EXPECT_EQ(cost.parameters, flat_parameters.parameters());
  EXPECT_EQ(cost.trained_parameters, flat_parameters.trained_parameters());
  given.train.freeze = {"generator.layers", "embeddings"};
  const auto frozen = cost_of(given, 32, at::kFloat);
  EXPECT_LT(frozen.trained_parameters, cost.trained_parameters);
  ASSERT_TRUE(cost.step && frozen.step);
  EXPECT_EQ(frozen.step->forward_flops, cost.step->forward_flops);
  EXPECT_LT(frozen.step->training_flops, cost.step->training_flops);
}

}  // namespace
}  // namespace weft::train
