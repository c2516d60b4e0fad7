#include "models/baselines/bag_of_words.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using Rows = std::vector<int64_t>;

ModelOptions bag(Weighting weighting, int64_t ngrams = 1) {
  auto options = family_defaults(family_named("bag_of_words"));
  options.head = Head::kSequence;
  options.vocabulary = 20;
  options.labels = {"no", "yes"};
  options.bos_id = 2;
  options.eos_id = 3;
  options.bag = {.weighting = weighting, .ngrams = ngrams, .buckets = 7};
  return options;
}

TextInput bag_of_words_ids(const Rows& values) {
  return {.ids = at::tensor(values, at::kLong), .types = {}};
}

/// Words 5, 6, 7 count 1, 10, 100 for the second class, and the bias is 1000.
std::shared_ptr<Model> counting(const ModelOptions& options) {
  auto model = make_model(options, 1);
  const at::NoGradGuard guard;
  auto parameters = model->named_parameters();
  parameters["words"].index_put_({at::tensor({5, 6, 7}), at::tensor({1, 1, 1})},
                                 at::tensor({1.0F, 10.0F, 100.0F}));
  parameters["bias"].copy_(at::tensor({0.0F, 1000.0F}));
  return model;
}

double second_logit(Model& model, const Rows& tokens) {
  const auto context = test::context_of({0, static_cast<int64_t>(tokens.size())});
  return model.class_logits(model.hidden(bag_of_words_ids(tokens), context), context)[0][1]
      .item<double>();
}

TEST(BagOfWords, CountsEveryOccurrence) {
  const auto model = counting(bag(Weighting::kCount));
  EXPECT_EQ(second_logit(*model, {2, 5, 6, 5, 3}), 1012);
  EXPECT_EQ(second_logit(*model, {2, 3}), 1000);
}

TEST(BagOfWords, BinaryCountsAWordOnce) {
  EXPECT_EQ(second_logit(*counting(bag(Weighting::kBinary)), {2, 5, 6, 5, 7, 7, 3}), 1111);
}

TEST(BagOfWords, LogOfTheNumberOfOccurrences) {
  EXPECT_NEAR(second_logit(*counting(bag(Weighting::kLog)), {2, 5, 6, 5, 7, 5, 7, 3}),
              1000 + std::log(4.0) + 10 * std::log(2.0) + 100 * std::log(3.0), 1e-3);
}

TEST(BagOfWords, LongerNgramsAreHashesOfTheirWords) {
  auto options = bag(Weighting::kCount, 3);
  options.bag.buckets = 1'000'003;
  const auto rows = bag_features({2, 5, 6, 7, 3, 5, 6, 7, 6, 5, 6}, {0, 11}, options).rows;
  const auto entry = [&](std::size_t token, std::size_t n) { return rows[token * 3 + n - 1]; };
  constexpr auto kNone = BagFeatures::kNone;
  EXPECT_EQ(entry(2, 3), kNone);        // 5 6: no word before
  EXPECT_EQ(entry(3, 3), entry(7, 3));  // 5 6 7, twice
  EXPECT_EQ(entry(3, 2), entry(7, 2));  // 6 7
  EXPECT_NE(entry(3, 3), entry(3, 2));
  EXPECT_NE(entry(10, 3), entry(8, 3));  // 6 5 6 and 6 7 6
  EXPECT_EQ(entry(5, 2), kNone);         // after a special token
}

TEST(BagOfWords, TfidfScalesTheTextToLengthOne) {
  const auto model = counting(bag(Weighting::kTfidf));
  {
    const at::NoGradGuard guard;
    model->named_parameters()["idf"][6].fill_(3.0);
  }
  // The vector of 5 5 6 is (2 * 1, 1 * 3), of length sqrt(13).
  EXPECT_NEAR(second_logit(*model, {2, 5, 6, 5, 3}), 1000 + (2 * 1 + 3 * 10) / std::sqrt(13.0),
              1e-3);
}

TEST(BagOfWords, SpecialTokensAreNotWordsAndSeparateNeighbours) {
  const auto options = bag(Weighting::kCount, 2);
  const auto rows = bag_features({2, 5, 6, 3, 7, 0, 3}, {0, 7}, options).rows;
  ASSERT_EQ(rows.size(), 14U);
  constexpr auto kNone = BagFeatures::kNone;
  EXPECT_EQ((Rows{rows[0], rows[1]}), (Rows{kNone, kNone}));
  EXPECT_EQ((Rows{rows[2], rows[3]}), (Rows{5, kNone}));
  EXPECT_EQ(rows[4], 6);
  EXPECT_GE(rows[5], options.vocabulary);
  EXPECT_LT(rows[5], bag_rows(options));
  EXPECT_EQ((Rows{rows[8], rows[9]}), (Rows{7, kNone}));  // after the separator
}

TEST(BagOfWords, ResultsDoNotDependOnOtherSequencesInTheBatch) {
  const auto model = counting(bag(Weighting::kTfidf, 2));
  test::fill_parameters(*model);
  const auto context = test::context_of({0, 4, 7, 9});
  const auto together = model->class_logits(
      model->hidden(bag_of_words_ids({2, 5, 6, 3, 2, 7, 3, 2, 3}), context), context);
  const auto alone = test::context_of({0, 3});
  EXPECT_TRUE(
      test::near(together[1],
                 model->class_logits(model->hidden(bag_of_words_ids({2, 7, 3}), alone), alone)[0]));
}

TEST(BagOfWords, LearnsOnlyTheWordsOfTheText) {
  const auto model = counting(bag(Weighting::kCount));
  const auto context = test::context_of({0, 4});
  model->class_logits(model->hidden(bag_of_words_ids({2, 5, 5, 3}), context), context)[0][0]
      .backward();
  const auto gradient = model->named_parameters()["words"].grad();
  EXPECT_EQ(gradient[5][0].item<double>(), 2);
  EXPECT_EQ(gradient.abs().sum().item<double>(), 2);
}

TEST(BagOfWords, FrequenciesAreNotTrained) {
  const auto model = make_model(bag(Weighting::kTfidf), 1);
  EXPECT_FALSE(model->named_parameters()["idf"].requires_grad());
  EXPECT_TRUE(model->named_parameters()["words"].requires_grad());
}

/// Texts of the words 5 to 8 with a class each.
void visit_labelled_texts(const std::function<void(const TrainingSequence&)>& visit) {
  const std::vector<std::pair<Rows, int64_t>> texts = {
      {{2, 5, 5, 6, 3}, 0}, {{2, 5, 7, 3}, 0}, {{2, 6, 7, 7, 3}, 1}, {{2, 5, 8, 3}, 2}};
  for (const auto& [ids, label] : texts) {
    visit({.ids = ids, .label = label});
  }
}

// The numbers of texts of class 0, 1 and 2 with the words 5, 6, 7 and 8: (2, 1, 1, 0), (0, 1, 1, 0)
// and (1, 0, 0, 1).
TEST(BagOfWords, NaiveBayesHasTheLogCountRatioOfEachClassAgainstTheOthers) {
  auto options = bag(Weighting::kNaiveBayes);
  options.labels = {"a", "b", "c"};
  options.bag.alpha = 0.5;
  const auto model = make_model(options, 1);
  model->fit({.visit = visit_labelled_texts, .directory = ""});
  const auto ratios = model->named_parameters()["log_count_ratios"];
  const auto ratio = [](double p, double p_sum, double q, double q_sum) {
    return std::log((p + 0.5) / (p_sum + 2)) - std::log((q + 0.5) / (q_sum + 2));
  };
  const std::vector<std::vector<double>> expected = {
      {ratio(2, 4, 1, 4), ratio(0, 2, 3, 6), ratio(1, 2, 2, 6)},
      {ratio(1, 4, 1, 4), ratio(1, 2, 1, 6), ratio(0, 2, 2, 6)},
      {ratio(1, 4, 1, 4), ratio(1, 2, 1, 6), ratio(0, 2, 2, 6)},
      {ratio(0, 4, 1, 4), ratio(0, 2, 1, 6), ratio(1, 2, 0, 6)}};
  for (int64_t word = 0; word < 4; ++word) {
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(ratios[5 + word][c].item<double>(),
                  expected[static_cast<std::size_t>(word)][static_cast<std::size_t>(c)], 1e-6);
    }
  }
  EXPECT_EQ(ratios.narrow(0, 0, 5).abs().sum().item<double>(), 0);  // not in the training data
  EXPECT_EQ(ratios.narrow(0, 9, 11).abs().sum().item<double>(), 0);
  EXPECT_FALSE(ratios.requires_grad());
  // A word counts once, with its weight times its ratio.
  test::fill_parameters(*model);
  model->fit({.visit = visit_labelled_texts, .directory = ""});
  const auto words = model->named_parameters()["words"];
  const auto context = test::context_of({0, 5});
  const auto logits =
      model->class_logits(model->hidden(bag_of_words_ids({2, 6, 5, 6, 3}), context), context);
  EXPECT_TRUE(test::near(
      logits[0], words[5] * ratios[5] + words[6] * ratios[6] + model->named_parameters()["bias"],
      1e-5));
  EXPECT_TRUE(test::near(model->token_class_weights()[5], words[5] * ratios[5], 1e-6));
}

TEST(BagOfWords, NaiveBayesOfTwoClassesHasOppositeRatios) {
  const auto model = make_model(bag(Weighting::kNaiveBayes, 2), 1);
  const auto visit = [](const auto& visitor) {
    visit_labelled_texts([&](const TrainingSequence& text) {
      visitor({.ids = text.ids, .label = std::min<int64_t>(text.label, 1)});
    });
  };
  model->fit({.visit = visit, .directory = ""});
  const auto ratios = model->named_parameters()["log_count_ratios"];
  EXPECT_TRUE(test::near(ratios.select(1, 0), -ratios.select(1, 1), 1e-6));
  EXPECT_GT(ratios.narrow(0, 20, 7).abs().sum().item<double>(), 0);  // of bigrams
}

TEST(BagOfWords, NaiveBayesNeedsAClassForEachText) {
  const auto model = make_model(bag(Weighting::kNaiveBayes), 1);
  const Rows ids = {2, 5, 3};
  EXPECT_THROW(
      model->fit({.visit = [&](const auto& visit) { visit({.ids = ids}); }, .directory = ""}),
      UserError);
}

TEST(BagOfWords, ADirectoryGivesItBack) {
  for (const auto weighting :
       {Weighting::kCount, Weighting::kBinary, Weighting::kTfidf, Weighting::kNaiveBayes}) {
    const auto model = make_model(bag(weighting, 2), 1);
    test::fill_parameters(*model);
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    const auto options = read_model_config(folder.path());
    EXPECT_EQ(options.bag, model->options().bag);
    EXPECT_EQ(options.labels, model->options().labels);
    const auto again = load_model(folder.path(), options, 2);
    EXPECT_TRUE(again.missing_keys.empty());
    EXPECT_EQ(second_logit(*again.model, {2, 5, 6, 3}), second_logit(*model, {2, 5, 6, 3}));
  }
}

TEST(BagOfWords, TransformersDoesNotKnowIt) {
  EXPECT_FALSE(is_known_to_transformers(bag(Weighting::kCount)));
  EXPECT_EQ(architecture_of(bag(Weighting::kCount)), "WeftBagOfWordsForSequenceClassification");
  EXPECT_FALSE(has_head(family_named("bag_of_words"), Head::kMaskedLm));
}

}  // namespace
}  // namespace weft::models
