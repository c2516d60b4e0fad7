// Fine-tuning features in complete runs: freezing, layer-wise learning rates, EMA, early stopping.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/log.h"
#include "formats/safetensors.h"
#include "models/directory.h"
#include "support/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/cost/cost.h"
#include "train/run/train.h"
#include "train/small_run.h"
#include "train/step/evaluate_directory.h"
#include "train/step/run_components.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

const Words kFineTuning = {"train.freeze=[embeddings, layers.0]", "train.optimizer.layer_decay=0.5",
                           "train.optimizer.head_lr=0.03",        "train.ema.decay=0.9",
                           "train.evaluate_every=2 steps",        "train.save_every=3 steps"};

class FineTuningTest : public ::testing::Test {
 protected:
  FineTuningTest() { log::set_level(log::Level::kError); }

  static void train(const RunConfig& config) { run_training(config, {}); }

  /// The run and, if it completes, the same run stopped after step 4 and resumed.
  void expect_exact_resume(const std::string& kind, const Words& overrides) {
    train(small_.config(kind, "straight", overrides));
    ASSERT_TRUE(test::train_until(small_.config(kind, "parts", overrides), 4));
    train(small_.config(kind, "parts", overrides));
    for (const auto* name :
         {"model.safetensors", "training/optimizer.safetensors", "training/weights.safetensors"}) {
      const auto straight = small_.file(std::string("straight/checkpoint-8/") + name);
      EXPECT_FALSE(straight.empty()) << name;
      EXPECT_TRUE(straight == small_.file(std::string("parts/checkpoint-8/") + name)) << name;
    }
    EXPECT_FALSE(small_.metrics("straight").empty());
    EXPECT_EQ(small_.metrics("straight"), small_.metrics("parts"));
  }

  /// Names of tensors whose bytes differ between two files, among those that both have.
  Words changed(const std::string& a, const std::string& b) const {
    const formats::SafetensorsFile first(small_.path(a));
    const formats::SafetensorsFile second(small_.path(b));
    Words names;
    for (const auto& [name, view] : first.tensors()) {
      const auto x = view.bytes;
      const auto y = second.at(name).bytes;
      if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) {
        names.push_back(name);
      }
    }
    return names;
  }

  /// Parameters of the trained run `base`.
  torch::OrderedDict<std::string, at::Tensor> parameters_of_base() {
    train(small_.config("classify", "base"));
    const auto directory = small_.path("base/last");
    return models::load_model(directory, models::read_model_config(directory), 0)
        .model->named_parameters();
  }

  /// A model made from that of the run `base` for rows of these classes, and the log.
  std::pair<std::shared_ptr<models::Model>, std::string> tuned_on(const std::string& rows) {
    small_.folder().write("other.tsv", "text\tlabel\n" + rows);
    const auto config = read_run_config(config::Document::parse(
        "init_from: " + small_.path("base") + "\ndata: {train: [{path: " +
            small_.path("other.tsv") + "}]}\nobjective: {type: classify}\n" +
            "train: {duration: 1 steps, batch_tokens: 96, evaluate_every: never}\n" +
            "run: {directory: " + small_.path("tuned") + "}\n",
        "tuned.yaml"));
    log::set_level(log::Level::kInfo);
    test::CapturedStderr captured;
    const auto model = prepare_run(config, std::nullopt, at::kCPU).model;
    log::set_level(log::Level::kError);
    return {model, captured.take()};
  }

  test::SmallRun small_;
};

Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A minimal config: what it starts from, and the objective.
RunConfig minimal(const test::SmallRun& small, const std::string& start, const Words& set = {}) {
  const auto yaml = start + "\ndata: {train: [{path: " + small.path("train.tsv") +
                    "}]}\nobjective: {type: classify}\n";
  return read_run_config(config::Document::parse(yaml, "minimal.yaml", set));
}

TEST_F(FineTuningTest, DefaultsDependOnTheTask) {
  train(small_.config("classify", "start", {"train.duration=2 steps"}));
  const auto from = "init_from: " + small_.path("start");
  const auto tuned = minimal(small_, from);
  EXPECT_EQ(tuned.train.batch_sequences, 32);
  EXPECT_EQ(tuned.train.batch_tokens, std::nullopt);
  EXPECT_EQ(tuned.train.optimizer.lr, 1e-4);
  EXPECT_EQ(tuned.train.schedule.warmup,
            (config::Duration{0.1 * 10, config::DurationUnit::kEpochs}));
  EXPECT_NE(tuned.resolved.find("    warmup: 10%\n"), std::string::npos) << tuned.resolved;
  const auto again = read_run_config(config::Document::parse(tuned.resolved, "again.yaml"));
  EXPECT_EQ(again.resolved, tuned.resolved);
  EXPECT_EQ(again.defaults, "");

  EXPECT_EQ(*objectives::labelled_training_defaults({.has_weights = true}).lr, 5e-5);

  const auto adapted = minimal(small_, from, {"train.lora.rank=2"});
  EXPECT_GT(adapted.train.optimizer.lr, tuned.train.optimizer.lr);

  const std::string tokenizer = "\ntokenizer: {type: wordpiece, vocab_size: 70, train_on: data}";
  const auto scratch = minimal(small_, "model: {preset: bert-tiny}" + tokenizer);
  EXPECT_EQ(scratch.train.batch_tokens, 8192);
  EXPECT_EQ(scratch.train.optimizer.lr, OptimizerOptions{}.lr);
  EXPECT_EQ(scratch.train.schedule.warmup.amount, 0);
  const auto words = minimal(small_, "model: {type: bag_of_words}" + tokenizer);
  EXPECT_EQ(words.train.batch_sequences, 32);
  EXPECT_EQ(words.train.optimizer.lr, 0.03);
  EXPECT_EQ(words.defaults,
            "bag_of_words defaults: 32 sequences per step, lr 0.03, no warm-up, 3 epochs");
}

TEST_F(FineTuningTest, DefaultsInWordsLeaveOutWhatTheConfigGives) {
  train(small_.config("classify", "start", {"train.duration=2 steps"}));
  const auto defaults = [&](const Words& set) {
    return minimal(small_, "init_from: " + small_.path("start"), set).defaults;
  };
  EXPECT_EQ(defaults({}),
            "fine-tuning defaults: 32 sequences per step, lr 1e-04, warm-up 10%, 10 epochs");
  EXPECT_EQ(defaults({"train.lora.rank=2", "train.duration=5 epochs"}),
            "fine-tuning with LoRA defaults: 32 sequences per step, lr 3e-04, warm-up 10%");
  EXPECT_EQ(defaults({"train.batch_tokens=64", "train.optimizer.lr=1e-3"}),
            "fine-tuning defaults: warm-up 10%, 10 epochs");
  const auto given = minimal(small_, "init_from: " + small_.path("start"),
                             {"train.batch_tokens=64", "train.schedule.warmup=0.2"});
  EXPECT_EQ(given.train.batch_sequences, std::nullopt);
  EXPECT_NE(given.resolved.find("    warmup: 20%\n"), std::string::npos);
}

TEST_F(FineTuningTest, FewExamplesAreReadMoreOften) {
  train(small_.config("classify", "start", {"train.duration=2 steps"}));
  const auto epochs_with = [&](int rows) {
    std::string table = "text\tlabel\n";
    for (int row = 0; row < rows; ++row) {
      table += row % 2 == 0 ? "good\tyes\n" : "bad\tno\n";
    }
    small_.folder().write("train.tsv", table);
    const auto config = minimal(small_, "init_from: " + small_.path("start"));
    EXPECT_EQ(config.train.duration.unit, config::DurationUnit::kEpochs);
    return config.train.duration.amount;
  };
  EXPECT_EQ(epochs_with(1'999), 10);
  EXPECT_EQ(epochs_with(2'000), 5);
  EXPECT_EQ(epochs_with(9'999), 5);
  EXPECT_EQ(epochs_with(10'000), 3);
  small_.folder().write("train.tsv", "text\tlabel\ngood\n");
  EXPECT_EQ(minimal(small_, "init_from: " + small_.path("start")).train.duration.amount, 3);
}

TEST_F(FineTuningTest, ADirectoryOfTextsHasTheVocabularyOfItsSize) {
  make_directories(small_.path("texts"));
  small_.folder().write("texts/a.txt", std::string(1'000'000, 'a'));
  const auto config = read_run_config(config::Document::parse(
      "model: {preset: bert-tiny}\ndata: {train: [{path: " + small_.path("texts") +
          "}]}\nobjective: {type: mlm}\n",
      "texts.yaml"));
  EXPECT_EQ(config.tokenizer.vocab_size, 4000);  // 4 * sqrt(1,000,000)
}

TEST_F(FineTuningTest, AWarmupInStepsMayBeTooLongForItsEpochs) {
  const auto config = small_.config("classify", "run",
                                    {"train.duration=1 epochs", "train.schedule.warmup=500 steps"});
  const auto message = test::message_of<UserError>([&] { train(config); });
  EXPECT_NE(message.find("the warm-up of 500 steps (500 updates) is longer than the run of 1 "
                         "epochs"),
            std::string::npos)
      << message;
  EXPECT_TRUE(small_.metrics("run").empty());
}

TEST_F(FineTuningTest, OtherClassesGetANewHeadOnTheEncoderOfInitFrom) {
  const auto base = parameters_of_base();
  const auto is_kept = [&](const models::Model& model, const std::string& name) {
    return at::equal(model.named_parameters()[name], base[name]);
  };
  const auto [other, log] = tuned_on("fox\tup\nhill\tdown\n");
  EXPECT_EQ(other->options().labels, (Words{"down", "up"}));
  EXPECT_FALSE(is_kept(*other, "head.output.weight"));
  EXPECT_TRUE(is_kept(*other, "pooler.dense.weight"));
  EXPECT_TRUE(is_kept(*other, "layers.1.attention.qkv.weight"));
  EXPECT_NE(log.find("[model] the classes of the data (down, up) differ from those of init_from "
                     "(no, yes): the classification head is newly initialised"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("missing keys, newly initialised: head.output.bias, head.output.weight"),
            std::string::npos)
      << log;
  EXPECT_EQ(tuned_on("fox\tup\nhill\tdown\nred\tyes\n").first->options().labels,
            (Words{"down", "up", "yes"}));
}

TEST_F(FineTuningTest, OtherClassesGetNewLogCountRatios) {
  train(small_.config("classify", "base", {"model={type: bag_of_words, weighting: naive_bayes}"}));
  const auto ratios = tuned_on("fox\tup\nhill\tdown\nfox\tup\nhill\tmiddle\n")
                          .first->named_parameters()["log_count_ratios"];
  EXPECT_EQ(ratios.size(1), 3);
  EXPECT_GT(ratios.abs().sum().item<double>(), 0);
}

TEST_F(FineTuningTest, KnownClassesKeepTheHeadOfInitFrom) {
  const auto base = parameters_of_base();
  const auto [same, log] = tuned_on("fox\tyes\nhill\tno\n");
  EXPECT_EQ(same->options().labels, (Words{"no", "yes"}));
  EXPECT_TRUE(
      at::equal(same->named_parameters()["head.output.weight"], base["head.output.weight"]));
  EXPECT_EQ(log.find("newly initialised"), std::string::npos) << log;
  EXPECT_EQ(log.find("head is kept"), std::string::npos) << log;
  const auto [part, remarks] = tuned_on("fox\tyes\n");
  EXPECT_TRUE(
      at::equal(part->named_parameters()["head.output.weight"], base["head.output.weight"]));
  EXPECT_NE(remarks.find("the data have 1 of the 2 classes of " + small_.path("base") +
                         ": its classification head is kept"),
            std::string::npos)
      << remarks;
}

TEST_F(FineTuningTest, AllOfItResumesBitForBitInFp32) {
  expect_exact_resume("classify", joined(kFineTuning, {"objective.r_drop=1"}));
}

TEST_F(FineTuningTest, AllOfItResumesBitForBitInBf16) {
  expect_exact_resume("classify",
                      joined(kFineTuning, {"train.precision=bf16", "train.micro_batch_tokens=40"}));
}

TEST_F(FineTuningTest, FrozenWeightsDoNotMoveByABit) {
  for (const std::string precision : {"fp32", "bf16"}) {
    const Words overrides = {"train.freeze=[embeddings, layers.0, '*norm*']",
                             "train.save_every=1 steps", "train.optimizer.decay_on=all",
                             "train.optimizer.weight_decay=0.5", "train.precision=" + precision};
    train(small_.config("classify", precision, overrides));
    const auto names = changed(precision + "/checkpoint-1/model.safetensors",
                               precision + "/checkpoint-8/model.safetensors");
    EXPECT_FALSE(names.empty());
    for (const auto& name : names) {
      const bool is_frozen = name.find("embeddings") != std::string::npos ||
                             name.find("layer.0") != std::string::npos ||
                             name.find("LayerNorm") != std::string::npos;
      EXPECT_FALSE(is_frozen) << name;
    }
    const formats::SafetensorsFile optimizer(
        small_.path(precision + "/checkpoint-8/training/optimizer.safetensors"));
    for (const auto& [name, view] : optimizer.tensors()) {
      EXPECT_EQ(name.find("embeddings"), std::string::npos) << name;
    }
  }
}

// Whatever is frozen below, the trained part takes the same first step.
TEST_F(FineTuningTest, FreezingChangesNoOtherParametersGradient) {
  const Words one = {"train.duration=1 steps", "train.schedule={type: constant}",
                     "train.clip_norm=null"};
  train(small_.config("classify", "whole", one));
  train(small_.config("classify", "part",
                      joined(one, {"train.freeze=[embeddings, layers.0, layers.1.attention]"})));
  const auto moments = std::string("/checkpoint-1/training/optimizer.safetensors");
  EXPECT_TRUE(changed("part" + moments, "whole" + moments).empty());
}

TEST_F(FineTuningTest, AccumulationEqualsTheLargeBatch) {
  const auto all = joined(kFineTuning, {"train.log_every=1 steps", "objective.r_drop=0.5"});
  train(small_.config("classify", "whole", all));
  train(small_.config("classify", "cut", joined(all, {"train.micro_batch_tokens=30"})));
  const auto whole = small_.values("whole", "train/loss");
  const auto parts = small_.values("cut", "train/loss");
  ASSERT_EQ(whole.size(), 8U);
  for (const auto& [step, loss] : whole) {
    EXPECT_NEAR(parts.at(step), loss, 2e-4 * loss) << step;
  }
}

TEST_F(FineTuningTest, SavedModelIsTheAverageThatWasEvaluated) {
  train(small_.config("classify", "run",
                      {"train.ema={decay: 0.9, warmup: false}", "train.evaluate_every=4 steps"}));
  const auto metrics =
      evaluate_directory(small_.path("run/last"), {small_.path("held_out.tsv")}, {});
  EXPECT_NEAR(metrics.at("eval_loss"), small_.values("run", "eval/loss").at(8), 1e-6);
  train(small_.config("classify", "plain", {"train.evaluate_every=4 steps"}));
  // The same weights were trained; only the saved weights differ.
  const formats::SafetensorsFile raw(small_.path("run/checkpoint-8/training/weights.safetensors"));
  const formats::SafetensorsFile plain(small_.path("plain/checkpoint-8/model.safetensors"));
  const formats::SafetensorsFile average(small_.path("run/checkpoint-8/model.safetensors"));
  const auto trained = raw.at("weight.head.output.weight").bytes;
  const auto same = plain.at("classifier.weight").bytes;
  const auto other = average.at("classifier.weight").bytes;
  EXPECT_TRUE(std::equal(trained.begin(), trained.end(), same.begin(), same.end()));
  EXPECT_FALSE(std::equal(trained.begin(), trained.end(), other.begin(), other.end()));
}

TEST_F(FineTuningTest, EmaMayBeTurnedOnAndOffOnResume) {
  train(small_.config("classify", "plain"));
  ASSERT_TRUE(test::train_until(small_.config("classify", "run", {"train.ema.decay=0.9"}), 4));
  train(small_.config("classify", "run"));
  EXPECT_TRUE(small_.file("plain/checkpoint-8/model.safetensors") ==
              small_.file("run/checkpoint-8/model.safetensors"));
  EXPECT_FALSE(fs::exists(small_.path("run/checkpoint-8/training/weights.safetensors")));
  EXPECT_NO_THROW(
      train(small_.config("classify", "run", {"train.ema.decay=0.9", "train.duration=10 steps"})));
}

TEST_F(FineTuningTest, RunThatGetsNoBetterStopsAndStaysStopped) {
  // So small a rate changes no prediction: the first evaluation stays the best.
  const Words overrides = {"train.optimizer.lr=1e-12", "train.evaluate_every=1 steps",
                           "train.early_stopping.patience=3", "train.best_by=eval_accuracy",
                           "train.save_every=1 steps"};
  train(small_.config("classify", "run", overrides));
  EXPECT_EQ(checkpoint_steps(small_.path("run")).back(), 4);
  EXPECT_EQ(fs::read_symlink(small_.path("run/best")).string(), "checkpoint-1");
  EXPECT_EQ(fs::read_symlink(small_.path("run/last")).string(), "checkpoint-4");
  const auto lines = small_.file("run/metrics.jsonl");
  train(small_.config("classify", "run", overrides));
  EXPECT_EQ(small_.file("run/metrics.jsonl"), lines);

  ASSERT_TRUE(test::train_until(small_.config("classify", "parts", overrides), 2));
  train(small_.config("classify", "parts", overrides));
  EXPECT_EQ(small_.metrics("parts"), small_.metrics("run"));

  train(small_.config("classify", "run", joined(overrides, {"train.early_stopping.patience=5"})));
  EXPECT_EQ(checkpoint_steps(small_.path("run")).back(), 6);
}

TEST_F(FineTuningTest, WrongPairsAreRefused) {
  const auto refusal = [&](const Words& overrides) {
    return test::message_of<config::Error>([&] { small_.config("classify", "run", overrides); });
  };
  const auto has = [](const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
  };
  EXPECT_TRUE(
      has(refusal({"train.freeze=[layer.0]"}), "train.freeze: 'layer.0' matches no parameter"));
  EXPECT_TRUE(has(refusal({"train.freeze=[layer.0]"}), "did you mean 'layers.0'?"));
  EXPECT_TRUE(has(refusal({"train.freeze=[layers.0-2]"}), "is beyond the last layer, layers.1"));
  EXPECT_TRUE(has(refusal({"train.freeze=['*']"}), "train.freeze: leaves no trainable parameters"));
  EXPECT_TRUE(has(refusal({"train.early_stopping.patience=3"}), "train.evaluate_every"));
  EXPECT_TRUE(has(refusal({"train.evaluate_every=1 steps", "train.early_stopping.patience=3",
                           "data.evaluate=[]"}),
                  "there is no data.evaluate"));
  EXPECT_TRUE(
      has(refusal({"train.early_stopping.patience=3", "train.evaluate_every=never"}),
          "early_stopping.patience: needs evaluations, but train.evaluate_every is `never`"));
  EXPECT_TRUE(has(refusal({"train.early_stopping.min_delta=0.1"}), "early_stopping.patience"));
  EXPECT_TRUE(has(refusal({"train.ema.warmup=false"}), "ema.decay"));
  EXPECT_TRUE(has(refusal({"train.ema.decay=1"}), "train.ema.decay"));
  EXPECT_TRUE(has(refusal({"train.optimizer.layer_decay=0"}), "layer_decay"));
  EXPECT_TRUE(has(refusal({"train.optimizer.layer_decay=1.1"}), "layer_decay"));
  EXPECT_TRUE(has(refusal({"train.optimizer.head_lr=0"}), "head_lr"));
  EXPECT_TRUE(has(refusal({"objective.r_drop=-1"}), "r_drop"));
  EXPECT_TRUE(has(refusal({"objective.r_drop=1", "model.dropout=0", "model.attention.dropout=0"}),
                  "objective.r_drop: compares two passes with different dropout masks"));
  EXPECT_TRUE(has(
      test::message_of<config::Error>([&] { small_.config("mlm", "run", {"objective.r_drop=1"}); }),
      "belongs to objectives of type classify or regress"));
}

TEST_F(FineTuningTest, ValuesWithoutEffectAreRefused) {
  const auto refusal = [&](const std::string& kind, const Words& overrides) {
    return test::message_of<config::Error>([&] { small_.config(kind, "run", overrides); });
  };
  const auto expect = [&](const std::string& kind, const Words& overrides,
                          const std::string& part) {
    const auto found = refusal(kind, overrides);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect("classify", {"train.best_by=eval_loss", "train.evaluate_every=never"},
         "train.best_by: has no effect: train.evaluate_every is `never`");
  expect("classify",
         {"train.best_by=eval_loss", "train.evaluate_every=1 steps", "data.evaluate=[]"},
         "train.best_by: has no effect: there is no data.evaluate");
  expect(
      "classify", {"data.pack=none"},
      "data.pack: has no effect here, only with running text (objective.type: mlm, causal, ...)");
  expect("classify", {"data.document_boundary=file"}, "data.document_boundary: has no effect here");
  expect("classify", {"data.sentence_boundary=punctuation"},
         "data.sentence_boundary: has no effect here");
  expect("classify", {"data.label_separator=;"},
         "data.label_separator: has no effect here, only with objective.multi_label: true");
  expect("mlm", {"data.unlabelled=drop"}, "data.unlabelled: has no effect here");
  for (const auto* division : {"data.folds=3", "data.split.test=0.1"}) {
    expect("mlm", {division, "data.evaluate=[]"},
           ": has no effect here, only with labelled texts, tags and images");
  }
  expect("mlm", {"objective.mean_span=5"}, "objective.mean_span: has no effect here");
  expect("mlm", {"objective.max_span=5"}, "only with mask_unit: span");
  expect("classify", {"model={type: bag_of_words}", "train.optimizer.layer_decay=0.9"},
         "layer_decay: has no effect, bag_of_words has no trainable layers");
  expect("classify", {"train.freeze=[backbone]", "train.optimizer.layer_decay=0.9"},
         "layer_decay: has no effect");
  expect("classify", {"train.freeze=[head, pooler]", "train.optimizer.head_lr=1e-3"},
         "head_lr: has no effect, train.freeze freezes the pooler and head");
  EXPECT_NO_THROW(small_.config("classify", "run",
                                {"train.freeze=[embeddings]", "train.optimizer.layer_decay=0.9",
                                 "train.optimizer.head_lr=1e-3"}));
}

TEST_F(FineTuningTest, GroupsOfTheOptimizerThatChangeNothingAreRefused) {
  EXPECT_NE(test::message_of<config::Error>([&] {
              small_.config("classify", "run",
                            {"train.freeze=[embeddings]",
                             "train.optimizer.groups=[{parameters: embeddings.word}]"});
            }).find("train.optimizer: groups.0.parameters: 'embeddings.word' has no effect"),
            std::string::npos);
}

TEST_F(FineTuningTest, FreezeMayNotChangeOnResume) {
  ASSERT_TRUE(test::train_until(small_.config("classify", "run"), 4));
  EXPECT_THROW(train(small_.config("classify", "run", {"train.freeze=[embeddings]"})), UserError);
}

TEST_F(FineTuningTest, CostCountsWhatIsTrained) {
  const auto cost = [&](const Words& overrides) {
    auto config = small_.config("classify", "run", overrides);
    config.model = options_without_data(config);
    return cost_of(config, 16, at::kFloat);
  };
  const auto whole = cost({});
  EXPECT_EQ(whole.trained_parameters, whole.parameters);
  EXPECT_NEAR(whole.weight_bytes, 4.0 * static_cast<double>(whole.parameters), 1 << 14);  // aligned
  EXPECT_EQ(whole.ema_bytes, 0);
  ASSERT_TRUE(whole.step) << whole.why_not_measured;
  const auto part = cost({"train.freeze=[embeddings, layers.0]", "train.ema.decay=0.9"});
  EXPECT_EQ(part.parameters, whole.parameters);
  EXPECT_LT(part.trained_parameters, whole.parameters);
  EXPECT_EQ(part.optimizer_bytes, 2 * part.gradient_bytes);
  EXPECT_EQ(part.ema_bytes, part.gradient_bytes);
  EXPECT_LT(part.gradient_bytes, whole.gradient_bytes);
  ASSERT_TRUE(part.step) << part.why_not_measured;
  EXPECT_EQ(part.step->forward_flops, whole.step->forward_flops);
  EXPECT_LT(part.step->training_flops, whole.step->training_flops);
  EXPECT_LT(part.step->activation_bytes(), whole.step->activation_bytes());
}

// The parameters of a model that no machine has the memory for.
TEST_F(FineTuningTest, CostOfALargeModelIsNotMeasured) {
  auto config = small_.config("classify", "run", {"train.precision=bf16"});
  config.model.dim = 16384;
  config.model.layers = 100;
  config.model.width = 4 * config.model.dim;
  config.model = options_without_data(config);
  const auto cost = cost_of(config, 16, at::kBFloat16);
  EXPECT_GT(cost.parameters, 12 * 100 * int64_t{16384} * 16384);
  EXPECT_NEAR(cost.weight_bytes, 6.0 * static_cast<double>(cost.parameters),
              1e-3 * cost.weight_bytes);
  EXPECT_FALSE(cost.step);
  EXPECT_NE(cost.why_not_measured.find("are free"), std::string::npos) << cost.why_not_measured;
}

}  // namespace
}  // namespace weft::train
