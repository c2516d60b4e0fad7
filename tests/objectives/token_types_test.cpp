#include "objectives/token_types.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "batches.h"
#include "objectives/embed.h"
#include "objectives/predict.h"
#include "objectives/predict_tags.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"
#include "support/toy_tokenizer.h"

namespace weft::objectives {
namespace {

models::ModelOptions xlm(models::Head head) {
  auto options = test::tiny_model(head);
  options.family = models::Family::kXlm;
  options.xlm.languages = {"de", "en"};
  options.xlm.embedding_deviation = 1.0;
  if (head == models::Head::kToken) {
    options.labels = {"B-X", "O"};
  }
  return options;
}

TEST(TokenTypes, AreTheLanguageWhereTheModelTellsLanguagesApart) {
  data::Example example;
  example.ids = {2, 7, 3};
  TokenTypes(xlm(models::Head::kNone), "en").tell(example, {0, 0, 1});
  EXPECT_EQ(example.types, (std::vector<int64_t>{1, 1, 1}));
}

TEST(TokenTypes, AreTheSegmentsElsewhereOrNothing) {
  auto options = test::tiny_model(models::Head::kNone);
  data::Example example;
  example.ids = {2, 7, 3};
  TokenTypes(options, "").tell(example, {0, 0, 1});
  EXPECT_EQ(example.types, (std::vector<int64_t>{0, 0, 1}));
  options.segments = 1;
  data::Example plain;
  TokenTypes(options, "").tell(plain, {0, 0, 1});
  EXPECT_TRUE(plain.types.empty());
}

TEST(TokenTypes, TheLanguageMustBeKnownOrLeftOut) {
  EXPECT_EQ(test::message_of<UserError>([] { check_language(xlm(models::Head::kNone), "sw"); }),
            "xlm: language: 'sw', must be one of those that the model tells apart: de, en");
  EXPECT_EQ(test::message_of<UserError>(
                [] { check_language(test::tiny_model(models::Head::kNone), "en"); }),
            "language: en, but this bert tells no languages apart; leave it out");
}

/// The first example of translation_lm on one pair of texts.
data::Example translated(const models::ModelOptions& model) {
  const test::Folder folder;
  data::DataItem item;
  item.path = "pairs.tsv";
  item.files = {folder.write("pairs.tsv", "source\ttarget\na b\tb a b\n")};
  item.language = "en";
  item.target_language = "de";
  data::DataOptions options;
  options.train = {item};
  options.cache = folder.path("cache");
  ObjectiveOptions objective;
  objective.type = ObjectiveType::kTranslationLm;
  const auto tokenizer = std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"a", "b"});
  return make_task_data(objective, options, model, tokenizer, 1, {}).train->example(0, 0);
}

TEST(TokenTypes, TranslationsBeginAnewWhereLanguagesAreTold) {
  const auto told = translated(xlm(models::Head::kMaskedLm));
  EXPECT_EQ(told.types, (std::vector<int64_t>{1, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(told.positions, (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 4}));
  const auto pair = translated(test::tiny_model(models::Head::kMaskedLm));
  EXPECT_EQ(pair.types, (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(pair.positions.empty());
}

TEST(TokenTypes, ABatchesTokensStandAtTheirPositions) {
  data::Batch batch;
  batch.add(0, translated(xlm(models::Head::kMaskedLm)));
  const auto layout = stage(batch, at::kCPU).pass.layout;
  EXPECT_TRUE(at::equal(layout.positions, at::tensor({0, 1, 2, 3, 0, 1, 2, 3, 4}, at::kLong)));
  EXPECT_EQ(layout.furthest, 5);
  EXPECT_EQ(layout.longest, 9);
}

TEST(TokenTypes, AnswersDependOnTheLanguage) {
  const test::ToyTokenizer tokenizer({"a", "b"}, 20);
  const auto classifier = models::make_model(xlm(models::Head::kSequence), 3);
  const auto german = predict(*classifier, tokenizer, {{"a b", {}}}, {.language = "de"});
  const auto english = predict(*classifier, tokenizer, {{"a b", {}}}, {.language = "en"});
  EXPECT_NE(german[0].scores, english[0].scores);
  EXPECT_THROW(predict(*classifier, tokenizer, {{"a b", {}}}), UserError);

  const auto tagger = models::make_model(xlm(models::Head::kToken), 3);
  EXPECT_NE(predict_tags(*tagger, tokenizer, {{"a"}}, {.language = "de"})[0].words[0].score,
            predict_tags(*tagger, tokenizer, {{"a"}}, {.language = "en"})[0].words[0].score);

  const auto bare = models::make_model(xlm(models::Head::kNone), 3);
  const auto vector_in = [&](const std::string& language) {
    return embed(*bare, tokenizer, {"a b"}, {}, 100, language).vectors;
  };
  EXPECT_FALSE(test::near(vector_in("de"), vector_in("en")));
}

}  // namespace
}  // namespace weft::objectives
