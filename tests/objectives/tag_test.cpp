#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "batches.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "metrics/tag_scheme.h"
#include "objectives/evaluation/tag_evaluation.h"
#include "objectives/objectives.h"
#include "support/folder.h"

namespace weft::objectives {
namespace {

using Names = std::vector<std::string>;

/// Results of seqeval on random tags (scripts/make_tagging_reference.py).
nlohmann::json tag_reference() {
  return nlohmann::json::parse(
      test::Folder::read(std::string(WEFT_SOURCE_DIR) + "/tests/reference/tagging/scores.json"));
}

std::vector<int64_t> ids_of(const nlohmann::json& tags, const Names& labels) {
  std::vector<int64_t> ids;
  for (const auto& tag : tags) {
    ids.push_back(std::find(labels.begin(), labels.end(), tag.get<std::string>()) - labels.begin());
  }
  return ids;
}

TEST(TagEvaluation, MatchesSeqeval) {
  for (const auto& expected : tag_reference()) {
    const auto labels = expected["labels"].get<Names>();
    TagEvaluation evaluation;
    const auto count = expected["wanted"].size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto item = count - 1 - i;  // the order in which they come does not matter
      evaluation.add({.item = static_cast<int64_t>(item),
                      .labels = ids_of(expected["wanted"][item], labels),
                      .predictions = ids_of(expected["found"][item], labels)},
                     labels);
    }
    const auto metrics = evaluation.result();
    for (const auto* name : {"accuracy", "precision", "recall", "f1"}) {
      EXPECT_NEAR(metrics.at(std::string("eval_") + name), expected[name].get<double>(), 1e-9)
          << name << " of " << expected["labels"];
    }
    const auto details = evaluation.details();
    for (const auto& [type, scores] : expected["types"].items()) {
      const auto& found = details["per_class"][type];
      EXPECT_NEAR(found["precision"].get<double>(), scores[0].get<double>(), 1e-9) << type;
      EXPECT_NEAR(found["recall"].get<double>(), scores[1].get<double>(), 1e-9) << type;
      EXPECT_NEAR(found["f1"].get<double>(), scores[2].get<double>(), 1e-9) << type;
      EXPECT_EQ(found["support"].get<double>(), scores[3].get<double>()) << type;
    }
  }
}

TEST(TagScheme, ReadsEveryTagScheme) {
  const std::vector<metrics::Entity> expected = {{.type = 0, .begin = 0, .end = 2},
                                                 {.type = 0, .begin = 2, .end = 3},
                                                 {.type = 1, .begin = 4, .end = 5}};
  const metrics::TagScheme iob2(Names{"O", "B-A", "I-A", "B-B", "I-B"});
  EXPECT_EQ(iob2.entities({1, 2, 1, 0, 3}), expected);
  EXPECT_EQ(iob2.types(), (Names{"A", "B"}));
  const metrics::TagScheme iob1(Names{"O", "B-A", "I-A", "I-B"});
  EXPECT_EQ(iob1.entities({2, 2, 1, 0, 3}), expected);
  const metrics::TagScheme iobes(Names{"O", "B-A", "E-A", "S-A", "S-B"});
  EXPECT_EQ(iobes.entities({1, 2, 3, 0, 4}), expected);
  const metrics::TagScheme bilou(Names{"O", "B-A", "L-A", "U-A", "U-B"});
  EXPECT_EQ(bilou.entities({1, 2, 3, 0, 4}), expected);
  EXPECT_EQ(iob2.entities({1, -1, 2}).size(), 2U);  // a word without a tag parts two
}

TEST(TagScheme, NamesTheTagsThatDoNotFitTheOthers) {
  EXPECT_EQ(metrics::TagScheme({"B-PER", "I-PER", "O", "PER", "B_LOC"}).other_tags(),
            (Names{"PER", "B_LOC"}));
  EXPECT_TRUE(metrics::TagScheme({"B-PER", "I-PER", "O"}).other_tags().empty());
  EXPECT_TRUE(metrics::TagScheme({"NOUN", "VERB"}).other_tags().empty());
}

TEST(TagScheme, DetectsTagsWithoutEntities) {
  EXPECT_FALSE(metrics::TagScheme(Names{"ADJ", "NOUN"}).marks_entities());
  EXPECT_FALSE(metrics::TagScheme(Names{"B-A", "NOUN"}).marks_entities());
  EXPECT_FALSE(metrics::TagScheme(Names{"O"}).marks_entities());
  EXPECT_FALSE(metrics::TagScheme(Names{"OB-A", "O"}).marks_entities());
  EXPECT_TRUE(metrics::TagScheme(Names{"B", "I", "O"}).marks_entities());
  EXPECT_TRUE(metrics::TagScheme(Names{"ADJ", "NOUN"}).entities({0, 1}).empty());
}

class TagObjectiveTest : public ::testing::Test {
 protected:
  static models::ModelOptions options() {
    auto options = test::tiny_model(models::Head::kToken);
    options.labels = {"B-X", "I-X", "O"};
    return options;
  }

  static data::Batch batch(const std::vector<int64_t>& numbers) {
    data::Batch made;
    for (const int64_t number : numbers) {
      auto example = test::example(number);
      example.targets = {number % 3, (number + 1) % 3};
      made.add(number, example);
    }
    return made;
  }

  std::unique_ptr<Objective> objective_ = make_tag();
  std::shared_ptr<models::Model> model_ = models::make_model(options(), 1);
};

TEST_F(TagObjectiveTest, LossIsTheSumOverLabelledTokens) {
  const auto both = batch({1, 2, 3});
  EXPECT_EQ(objective_->counts(both), std::vector<int64_t>{6});
  const auto loss_of = [&](const data::Batch& one) {
    return test::loss_sum(
        objective_->losses(*model_, one, batching::to_device(one, at::kCPU).context));
  };
  EXPECT_NEAR(loss_of(both), loss_of(batch({1})) + loss_of(batch({2, 3})), 1e-5);
  const auto device_batch = batching::to_device(both, at::kCPU);
  const auto logits = model_->token_logits(model_->hidden(device_batch.input, device_batch.context),
                                           device_batch.context);  // (N, C)
  double expected = 0;
  for (std::size_t i = 0; i < both.targets.size(); ++i) {
    expected -= logits[both.target_rows[i]].log_softmax(0)[both.targets[i]].item<double>();
  }
  EXPECT_NEAR(loss_of(both), expected, 1e-5);
}

models::ModelOptions document_tag_options() {
  auto options = test::tiny_document_model(models::Head::kToken);
  options.labels = {"no", "yes"};
  options.dropout = 0.2;
  return options;
}

/// Documents of different numbers of sentences.
data::Batch document_batch(const std::vector<int64_t>& numbers) {
  data::Batch batch;
  for (const int64_t number : numbers) {
    data::Example example;
    for (int64_t sentence = 0; sentence <= number % 3; ++sentence) {
      const auto length = 2 + (number + sentence) % 3;
      for (int64_t i = 0; i < length; ++i) {
        example.ids.push_back(5 + (number * 7 + sentence * 5 + i * 3) % 25);
      }
      example.token_type_ids.resize(example.ids.size());
      example.sentence_lengths.push_back(length);
      example.target_positions.push_back(std::ssize(example.ids) - 1);
      example.targets.push_back((number + sentence) % 2);
    }
    batch.add(number, example);
  }
  return batch;
}

TEST(TagObjectiveOfSentences, LossDoesNotDependOnTheSplitOfAStep) {
  const auto model = models::make_model(document_tag_options(), 1);
  const auto objective = make_tag();
  const auto losses = [&](const std::vector<std::vector<int64_t>>& parts) {
    double sum = 0;
    int64_t count = 0;
    nn::ForwardContext context;
    context.is_training = true;
    context.step = 3;
    for (const auto& part : parts) {
      const auto batch = document_batch(part);
      batching::set_sequences(batch, at::kCPU, context);
      sum += test::loss_sum(objective->losses(*model, batch, context));
      count += objective->counts(batch).at(0);
      batching::advance_offsets(batch, context);
    }
    EXPECT_EQ(count, 9);
    return sum;
  };
  const auto together = losses({{0, 1, 2, 5}});
  EXPECT_NEAR(losses({{0}, {1, 2}, {5}}), together, 1e-5);
  EXPECT_NEAR(losses({{0, 1, 2}, {5}}), together, 1e-5);
}

TEST(TagObjectiveOfSentences, MetricsDoNotDependOnBatches) {
  const auto model = models::make_model(document_tag_options(), 1);
  const auto objective = make_tag();
  const auto together = test::evaluate(*objective, *model, {document_batch({0, 1, 2, 3, 4, 5})});
  const auto apart = test::evaluate(
      *objective, *model, {document_batch({5, 2}), document_batch({0}), document_batch({4, 3, 1})});
  for (const auto& [name, value] : together) {
    EXPECT_NEAR(apart.at(name), value, 1e-6) << name;
  }
}

TEST(TagObjectiveOfSentences, TheSampleHasATargetForEachSentence) {
  const auto example = make_tag()->sample_example(document_tag_options(), 12);
  EXPECT_EQ(example.sentence_lengths, (std::vector<int64_t>{5, 5, 2}));
  EXPECT_EQ(example.target_positions, (std::vector<int64_t>{4, 9, 11}));
  EXPECT_EQ(example.targets.size(), 3U);
}

TEST_F(TagObjectiveTest, ABatchWithoutTargetsHasNoLoss) {
  data::Batch empty;
  auto example = test::example(1);
  example.target_positions.clear();
  example.targets.clear();
  empty.add(0, example);
  const auto losses =
      objective_->losses(*model_, empty, batching::to_device(empty, at::kCPU).context);
  EXPECT_EQ(losses.at(0).item<double>(), 0);
  EXPECT_TRUE(losses.at(0).requires_grad());
}

TEST_F(TagObjectiveTest, MetricsDoNotDependOnBatches) {
  const auto together = test::evaluate(*objective_, *model_, {batch({0, 1, 2, 3, 4, 5})});
  const auto apart =
      test::evaluate(*objective_, *model_, {batch({5, 2}), batch({0}), batch({4, 3, 1})});
  ASSERT_EQ(together.size(), apart.size());
  for (const auto& [name, value] : together) {
    EXPECT_NEAR(apart.at(name), value, 1e-6) << name;
  }
}

TEST_F(TagObjectiveTest, ScoresAreTheProbabilitiesOfWhatIsFound) {
  const auto both = batch({1, 2});
  TagEvaluation evaluation;
  const auto device_batch = batching::to_device(both, at::kCPU);
  evaluation.add(*model_, both, device_batch.context);
  const auto shares = batching::tag_logits(*model_, device_batch.input, both, device_batch.context)
                          .softmax(1)
                          .amax(1);  // (M)
  int64_t row = 0;
  auto worst = evaluation.hardest_examples(2).value();
  std::sort(worst.begin(), worst.end(),
            [](const auto& a, const auto& b) { return a.item < b.item; });
  for (const auto& verdict : worst) {
    for (const auto& score : verdict.fields["scores"]) {
      EXPECT_NEAR(score.get<double>(), shares[row++].item<double>(), 1e-6);
    }
  }
  EXPECT_EQ(row, shares.size(0));
}

TEST_F(TagObjectiveTest, TheWorstSentencesComeFirst) {
  TagEvaluation evaluation;
  const Names labels = {"X", "Y"};
  evaluation.add({.item = 1, .loss = 0.5, .labels = {0}, .predictions = {1}, .scores = {0.6}},
                 labels);
  evaluation.add(
      {.item = 0, .loss = 2.5, .labels = {1, 1}, .predictions = {0, 1}, .scores = {0.9, 0.75}},
      labels);
  const auto worst = evaluation.hardest_examples(1).value();
  ASSERT_EQ(worst.size(), 1U);
  EXPECT_EQ(worst[0].item, 0);
  EXPECT_EQ(worst[0].fields["tags"], (formats::Json{"Y", "Y"}));
  EXPECT_EQ(worst[0].fields["predictions"], (formats::Json{"X", "Y"}));
  EXPECT_EQ(worst[0].fields["scores"], (formats::Json{0.9, 0.75}));
}

}  // namespace
}  // namespace weft::objectives
