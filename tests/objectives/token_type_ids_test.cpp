#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "batching/model_inputs.h"
#include "objectives/batches.h"
#include "objectives/objectives.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::objectives {
namespace {

TEST(TokenTypeIds, AreTheLanguageIdsForModelsWithLanguageEmbeddings) {
  data::Example example;
  example.ids = {2, 7, 3};
  batching::TokenTypeIds(test::tiny_xlm(models::Head::kNone), "en").assign(example, {0, 0, 1});
  EXPECT_EQ(example.token_type_ids, (std::vector<int64_t>{1, 1, 1}));
}

TEST(TokenTypeIds, AreTheSegmentIdsOtherwiseOrNone) {
  auto options = test::tiny_model(models::Head::kNone);
  data::Example example;
  example.ids = {2, 7, 3};
  batching::TokenTypeIds(options, "").assign(example, {0, 0, 1});
  EXPECT_EQ(example.token_type_ids, (std::vector<int64_t>{0, 0, 1}));
  options.type_vocab_size = 1;
  data::Example plain;
  batching::TokenTypeIds(options, "").assign(plain, {0, 0, 1});
  EXPECT_TRUE(plain.token_type_ids.empty());
}

TEST(TokenTypeIds, TheLanguageMustBeKnownOrOmitted) {
  EXPECT_EQ(test::message_of<UserError>(
                [] { batching::check_language(test::tiny_xlm(models::Head::kNone), "sw"); }),
            "xlm: language: 'sw', must be one of the model's languages: de, en");
  EXPECT_EQ(test::message_of<UserError>(
                [] { batching::check_language(test::tiny_model(models::Head::kNone), "en"); }),
            "language: en, but this bert has no language embeddings; omit it");
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
  const auto tokenizer = std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"a", "b"});
  return make_translation_lm()
      ->make_datasets({.data = options, .model = model, .tokenizer = tokenizer})
      .train->example(0, 0);
}

TEST(TokenTypeIds, TranslationsRestartPositionsWithLanguageEmbeddings) {
  const auto told = translated(test::tiny_xlm(models::Head::kMaskedLm));
  EXPECT_EQ(told.token_type_ids, (std::vector<int64_t>{1, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(told.positions, (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 4}));
  const auto pair = translated(test::tiny_model(models::Head::kMaskedLm));
  EXPECT_EQ(pair.token_type_ids, (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(pair.positions.empty());
}

TEST(TokenTypeIds, BatchTokensHaveTheirPositions) {
  data::Batch batch;
  batch.add(0, translated(test::tiny_xlm(models::Head::kMaskedLm)));
  const auto layout = batching::to_device(batch, at::kCPU).context.layout;
  EXPECT_TRUE(at::equal(layout.positions, at::tensor({0, 1, 2, 3, 0, 1, 2, 3, 4}, at::kLong)));
  EXPECT_EQ(layout.position_limit, 5);
  EXPECT_EQ(layout.max_length, 9);
}

}  // namespace
}  // namespace weft::objectives
