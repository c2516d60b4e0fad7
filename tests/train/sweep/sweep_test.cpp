#include "train/sweep/sweep.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/config.h"
#include "train/small_run.h"
#include "train/sweep/halving.h"

namespace weft::train {
namespace {

class Sweep : public ::testing::Test {
 protected:
  SweepRequest request(const std::vector<std::string>& overrides = {}) const {
    const auto yaml =
        "model: {type: bag_of_words, weighting: tfidf, ngrams: 2, buckets: 50}\n"
        "tokenizer: {type: wordpiece, vocab_size: 70, train_on: data}\n"
        "data:\n"
        "  train: [{path: " +
        small_.path("train.tsv") +
        "}]\n"
        "  evaluate: [{path: " +
        small_.path("held_out.tsv") +
        "}]\n"
        "objective: {type: classify}\n"
        "train:\n"
        "  duration: 6 steps\n"
        "  batch_sequences: 8\n"
        "  optimizer: {type: adamw, lr: 1e-2}\n"
        "  evaluate_every: 2 steps\n"
        "  save_every: never\n"
        "  threads: 1\n"
        "run: {directory: " +
        small_.path("sweep") + ", seed: 7, device: cpu}\n";
    return {.config = small_.folder().write("sweep.yaml", yaml), .overrides = overrides};
  }

  std::vector<std::string> names(const SweepRequest& wanted) const {
    std::vector<std::string> result;
    for (const auto& run : plan_sweep(wanted)) {
      result.push_back(run.name);
    }
    return result;
  }

  std::string message(const SweepRequest& wanted) const {
    return test::message_of<UserError>([&] { plan_sweep(wanted); });
  }

  test::SmallRun small_;
};

using Names = std::vector<std::string>;

TEST(MetricSummary, IsThatOfASample) {
  const auto summary = summarize_metric({1, 2, 6});
  EXPECT_DOUBLE_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(*summary.sample_std, std::sqrt((4 + 1 + 9) / 2.0));
  EXPECT_FALSE(summarize_metric({5}).sample_std.has_value());
}

TEST(Grid, MakesEveryCombination) {
  const auto settings = combinations({{"a.lr", {"1e-5", "5e-5"}}, {"b", {"x", "y", "z"}}});
  ASSERT_EQ(settings.size(), 6U);
  EXPECT_EQ(to_string(settings[1]), "a.lr=1e-5, b=y");
  EXPECT_EQ(combinations({}), std::vector<Setting>{{}});
}

TEST(Grid, NamesTellSettingsApart) {
  EXPECT_EQ(name_of({{"train.optimizer.lr", "5e-5"}, {"train.duration", "3 epochs"}}),
            "lr-5e-5_duration-3-epochs");
  EXPECT_EQ(name_of({{"model.dropout", "0.1"}, {"model.attention.dropout", "0"}}),
            "model.dropout-0.1_attention.dropout-0");
  EXPECT_NE(name_of({{"a", "[1, 2]"}}), name_of({{"a", "(1, 2)"}}));
}

TEST_F(Sweep, PlansSettingsThenSeedsThenFolds) {
  auto wanted = request({"grid={train.optimizer.lr: [0.1, 0.2]}"});
  wanted.seeds = {7, 9};
  wanted.folds = 2;
  EXPECT_EQ(names(wanted),
            (Names{"lr-0.1/seed-7/fold-1", "lr-0.1/seed-7/fold-2", "lr-0.1/seed-9/fold-1",
                   "lr-0.1/seed-9/fold-2", "lr-0.2/seed-7/fold-1", "lr-0.2/seed-7/fold-2",
                   "lr-0.2/seed-9/fold-1", "lr-0.2/seed-9/fold-2"}));
  const auto run = plan_sweep(wanted).back();
  EXPECT_EQ(run.config.run.seed, 9);
  EXPECT_EQ(run.config.train.optimizer.lr, 0.2);
  EXPECT_EQ(run.config.data.fold, 2);
  EXPECT_TRUE(run.config.data.evaluate.empty());
  EXPECT_EQ(run.config.resolved.find("grid"), std::string::npos);
  EXPECT_EQ(run.config.run.directory, small_.path("sweep") + "/lr-0.2/seed-9/fold-2");
}

TEST_F(Sweep, ResolvedConfigsOfTheBaselinesReadBackToTheSame) {
  for (const auto* model :
       {"{type: bag_of_words}", "{type: bag_of_words, ngrams: 2}", "{type: decomposable_attention}",
        "{type: decomposable_attention, intra_attention: true}"}) {
    const auto wanted = request({std::string("model=") + model});
    const auto once =
        read_run_config(config::Document::load(wanted.config, wanted.overrides)).resolved;
    EXPECT_EQ(read_run_config(config::Document::parse(once, "resolved.yaml")).resolved, once);
  }
}

TEST_F(Sweep, RefusesKeysThatNoConfigHas) {
  EXPECT_NE(message(request({"grid={train.optimizer.lrr: [1]}"}))
                .find("did you mean 'train.optimizer.lr'?"),
            std::string::npos);
  EXPECT_NE(message(request({"grid={run.seed: [1, 2]}"})).find("use `--seeds` instead"),
            std::string::npos);
}

TEST_F(Sweep, RefusesValuesBeforeAnyRun) {
  EXPECT_NE(message(request({"grid={train.optimizer.lr: [0.1, -1]}"})).find("train.optimizer.lr"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(small_.path("sweep")));
}

TEST_F(Sweep, RefusesRunsWithoutEvaluation) {
  auto wanted = request({"data.evaluate=[]"});
  wanted.seeds = {1, 2};
  EXPECT_NE(message(wanted).find("no evaluation data to compare the runs on"), std::string::npos);
}

TEST_F(Sweep, SummarizesSeeds) {
  auto wanted = request();
  wanted.seeds = {1, 2};
  wanted.tests = {small_.path("held_out.tsv")};
  const auto result = run_sweep(wanted);
  ASSERT_EQ(result.groups.size(), 1U);
  const auto& group = result.groups[0];
  ASSERT_EQ(group.runs.size(), 2U);
  const auto& accuracy = group.metrics.at("eval_accuracy");
  EXPECT_DOUBLE_EQ(
      accuracy.mean,
      (group.runs[0].metrics.at("eval_accuracy") + group.runs[1].metrics.at("eval_accuracy")) / 2);
  // The best checkpoint, on the same rows: the same metrics.
  EXPECT_NEAR(group.runs[0].metrics.at("test_loss"), group.runs[0].metrics.at("eval_loss"), 1e-6);
  EXPECT_EQ(group.runs[0].metrics.at("test_accuracy"), group.runs[0].metrics.at("eval_accuracy"));
  const auto json = nlohmann::json::parse(small_.file("sweep/seeds.json"));
  EXPECT_EQ(json["settings"][0]["metrics"]["eval_accuracy"]["mean"], accuracy.mean);
  EXPECT_EQ(json["settings"][0]["runs"][1]["name"], "seed-2");
  EXPECT_NE(to_table(result).find("eval_accuracy"), std::string::npos);
}

TEST_F(Sweep, FinishedRunGivesTheSameResultAgain) {
  auto wanted = request();
  wanted.seeds = {1, 2};
  run_sweep(wanted);
  const auto before = small_.file("sweep/seeds.json");
  const auto metrics = small_.file("sweep/seed-1/metrics.jsonl");
  run_sweep(wanted);
  EXPECT_EQ(small_.file("sweep/seeds.json"), before);
  EXPECT_EQ(small_.file("sweep/seed-1/metrics.jsonl"), metrics);
}

TEST_F(Sweep, AStopLeavesTheRestForLater) {
  auto wanted = request();
  wanted.seeds = {1, 2};
  request_stop(true);
  EXPECT_THROW(run_sweep(wanted), Stopped);
  request_stop(false);
  EXPECT_FALSE(std::filesystem::exists(small_.path("sweep/seeds.json")));
  EXPECT_EQ(run_sweep(wanted).groups[0].runs.size(), 2U);
}

TEST_F(Sweep, FoldsMeasureEveryRowOnce) {
  auto wanted = request();
  wanted.folds = 4;
  const auto result = run_sweep(wanted);
  EXPECT_EQ(result.groups[0].runs.size(), 4U);
  EXPECT_TRUE(result.groups[0].metrics.contains("eval_accuracy"));
  EXPECT_TRUE(std::filesystem::exists(small_.path("sweep/folds.json")));
}

// The letter of a row is only in the vocabulary of runs that train on it.
TEST_F(Sweep, TokenizersOfFoldsDoNotSeeTheHeldOutRows) {
  std::string rows = "label\ttext\n";
  for (int i = 0; i < 40; ++i) {
    rows += std::string(i % 2 == 0 ? "good" : "bad") + "\ta film we saw";
    for (int j = 0; i == 7 && j < 60; ++j) {
      rows += " quo";
    }
    rows += "\n";
  }
  small_.folder().write("train.tsv", rows);
  auto wanted = request(
      {"tokenizer.vocab_size=20", "train.duration=1 steps", "train.evaluate_every=1 steps"});
  wanted.folds = 2;
  run_sweep(wanted);
  int with_q = 0;
  for (const std::string fold : {"fold-1", "fold-2"}) {
    const auto vocabulary = small_.file("sweep/" + fold + "/last/vocab.txt");
    EXPECT_NE(vocabulary.find('w'), std::string::npos);
    with_q += vocabulary.find('q') != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(with_q, 1);
}

TEST_F(Sweep, FoldsGoWithBestByAndWithoutDataEvaluate) {
  auto wanted = request({"data.evaluate=[]", "train.best_by=eval_loss"});
  wanted.folds = 2;
  EXPECT_EQ(plan_sweep(wanted).size(), 2U);
}

TEST_F(Sweep, SortsTheGridByTheDecidingMetric) {
  const auto result =
      run_sweep(request({"grid={train.optimizer.lr: [1e-6, 0.1]}", "train.best_by=eval_loss"}));
  ASSERT_EQ(result.groups.size(), 2U);
  EXPECT_LE(result.groups[0].metrics.at("eval_loss").mean,
            result.groups[1].metrics.at("eval_loss").mean);
  EXPECT_EQ(result.groups[0].name, "lr-0.1");
  EXPECT_NE(to_table(result).find("best by eval_loss: train.optimizer.lr=0.1"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(small_.path("sweep/grid.json")));
}

TEST_F(Sweep, AnUnknownDecidingMetricIsRefusedBeforeTheFirstRun) {
  const auto message =
      test::message_of<UserError>([&] { run_sweep(request({"train.best_by=eval_acuracy"})); });
  EXPECT_TRUE(message.starts_with(
      "train.best_by: unknown metric 'eval_acuracy', did you mean 'eval_accuracy'?"))
      << message;
  EXPECT_FALSE(std::filesystem::exists(small_.path("sweep")));
}

TEST_F(Sweep, ARunThatDivergesIsRankedLastAndTheOthersAreTrained) {
  const std::vector<std::string> overrides = {
      "train.nan_policy={max_consecutive_skips: 1}", "train.clip_norm=null",
      "train.schedule={type: constant}", "train.optimizer.type=sgd",
      "grid={train.optimizer.lr: [1e38, 1e-2]}"};
  for (const auto resume : {Resume::kAuto, Resume::kNever}) {
    auto wanted = request(overrides);
    wanted.resume = resume;
    const auto result = run_sweep(wanted);
    ASSERT_EQ(result.groups.size(), 2U);
    EXPECT_EQ(result.groups[0].name, "lr-1e-2");
    EXPECT_TRUE(result.groups[0].metrics.contains("eval_loss"));
    EXPECT_TRUE(result.groups[1].metrics.empty());
    EXPECT_NE(result.groups[1].runs.at(0).error.find("skipped"), std::string::npos);
    EXPECT_EQ(diverged_runs(result), Names{"lr-1e38"});
    EXPECT_TRUE(to_table(result).ends_with("diverged: lr-1e38\n"));
    EXPECT_NE(to_json(result).find("\"error\":\"train: "), std::string::npos);
  }
}

TEST_F(Sweep, MayBeRankedByAMetricOfItsTestFiles) {
  const std::vector<std::string> overrides = {"grid={train.optimizer.lr: [1e-6, 0.1]}",
                                              "train.best_by=test_loss"};
  EXPECT_EQ(message(request(overrides)),
            "train.best_by: test_loss needs test files, add --test FILE");
  for (const bool has_evaluation : {true, false}) {
    auto wanted = request(overrides);
    if (!has_evaluation) {
      wanted.overrides.insert(wanted.overrides.end(), {"data.evaluate=[]", "run.keep.best=0"});
    }
    wanted.tests = {small_.path("held_out.tsv")};
    wanted.resume = Resume::kNever;
    const auto result = run_sweep(wanted);
    EXPECT_EQ(result.metric_for_best_model, "test_loss");
    EXPECT_EQ(result.groups[0].name, "lr-0.1");
    EXPECT_LT(result.groups[0].metrics.at("test_loss").mean,
              result.groups[1].metrics.at("test_loss").mean);
  }
}

TEST_F(Sweep, RunsGoOnWithChangedDataIfAllowed) {
  auto wanted = request({"train.duration=4 steps", "train.save_every=2 steps"});
  wanted.seeds = {1};
  run_sweep(wanted);
  wanted.overrides[0] = "train.duration=6 steps";
  small_.folder().write("train.tsv", small_.file("train.tsv") + "one more row\tyes\n");
  EXPECT_THROW(run_sweep(wanted), UserError);
  wanted.allows_changed_data = true;
  run_sweep(wanted);
  EXPECT_TRUE(std::filesystem::exists(small_.path("sweep/seed-1/checkpoint-6")));
}

TEST_F(Sweep, ATfIdfRunResumesExactly) {
  auto config = [&](const std::string& directory) {
    auto wanted = request({"run.directory=" + small_.path(directory), "train.save_every=1 steps"});
    return read_run_config(config::Document::load(wanted.config, wanted.overrides));
  };
  run_training(config("whole"), {});
  EXPECT_TRUE(test::train_until(config("cut"), 3));
  run_training(config("cut"), {});
  EXPECT_EQ(small_.file("cut/last/model.safetensors"), small_.file("whole/last/model.safetensors"));
  EXPECT_EQ(small_.file("cut/last/config.json"), small_.file("whole/last/config.json"));
}

TEST(Halving, EachRoundKeepsTheBestForLonger) {
  const auto rounds = halving_rounds(9, 3);
  ASSERT_EQ(rounds.size(), 3U);
  EXPECT_EQ(rounds[0].settings, 9U);
  EXPECT_NEAR(rounds[0].share, 1.0 / 9, 1e-12);
  EXPECT_EQ(rounds[1].settings, 3U);
  EXPECT_EQ(rounds[2].settings, 1U);
  EXPECT_EQ(rounds[2].share, 1);
  EXPECT_EQ(halving_rounds(5, 2).size(), 3U);
  EXPECT_EQ(halving_rounds(5, 2)[1].settings, 2U);
  EXPECT_EQ(halving_rounds(5, 0).size(), 1U);
  EXPECT_EQ(halving_rounds(1, 2).size(), 1U);
}

TEST_F(Sweep, HalvingTrainsOnlyTheBestToTheEnd) {
  auto wanted = request({"grid={train.optimizer.lr: [1e-6, 0.1, 1e-5, 0.05]}",
                         "train.best_by=eval_loss", "train.duration=8 steps"});
  wanted.halving = 2;
  const auto result = run_sweep(wanted);
  ASSERT_EQ(result.groups.size(), 4U);
  EXPECT_EQ(result.groups[0].name, "lr-0.1");
  EXPECT_EQ(result.groups[0].share, 1);
  EXPECT_EQ(result.groups[1].name, "lr-0.05");
  EXPECT_EQ(result.groups[1].share, 0.5);
  EXPECT_EQ(result.groups[2].share, 0.25);
  EXPECT_EQ(result.groups[3].share, 0.25);
  EXPECT_EQ(result.groups[0].runs[0].step, 8);
  EXPECT_EQ(result.groups[1].runs[0].step, 4);
  EXPECT_EQ(result.groups[3].runs[0].step, 2);
  EXPECT_NE(to_table(result).find("25 %"), std::string::npos);
  // The best one has the same bits as a run without pauses.
  auto alone = request({"train.optimizer.lr=0.1", "train.best_by=eval_loss",
                        "train.duration=8 steps", "run.directory=" + small_.path("alone")});
  run_training(read_run_config(config::Document::load(alone.config, alone.overrides)), {});
  EXPECT_EQ(small_.file("sweep/lr-0.1/last/model.safetensors"),
            small_.file("alone/last/model.safetensors"));
}

/// Runs that have gone on are compared by what they had achieved in the round.
TEST_F(Sweep, AnInterruptedHalvingComparesTheSameNumbersAgain) {
  auto wanted = request({"grid={train.optimizer.lr: [1e-6, 0.1, 1e-5, 0.05]}",
                         "train.best_by=eval_loss", "train.duration=8 steps"});
  wanted.halving = 2;
  run_sweep(wanted);
  const auto report = small_.file("sweep/grid.json");
  const auto metrics = small_.file("sweep/lr-0.05/metrics.jsonl");
  std::filesystem::remove(small_.path("sweep/grid.json"));
  run_sweep(wanted);
  EXPECT_EQ(small_.file("sweep/grid.json"), report);
  EXPECT_EQ(small_.file("sweep/lr-0.05/metrics.jsonl"), metrics);
}

TEST_F(Sweep, HalvingNeedsSeveralSettings) {
  auto wanted = request();
  wanted.halving = 2;
  EXPECT_EQ(test::message_of<UserError>([&] { run_sweep(wanted); }),
            "successive halving by 2 needs a grid of at least 2 settings, found 1");
}

}  // namespace
}  // namespace weft::train
