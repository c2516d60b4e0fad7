#include "data/datasets/translation_dataset.h"

#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

class TranslationDatasetTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Dataset> make(const std::string& rows,
                                      int64_t length,
                                      Truncation overflow = Truncation::kTruncate) {
    return make(rows, {.length = length, .mask = MaskOptions{}}, overflow);
  }

  std::shared_ptr<const Dataset> make(const std::string& rows,
                                      const LanguageSettings& settings,
                                      Truncation overflow = Truncation::kTruncate) {
    DataItem item;
    item.language = language_;
    item.target_language = target_language_;
    item.path = "pairs.tsv";
    item.files = {folder_.write("pairs.tsv", "source\ttarget\n" + rows)};
    DataOptions options;
    options.cache = folder_.path("cache");
    options.truncation = overflow;
    return make_translation_dataset({item}, options, settings, test::ToyTokenizer({}, 1000));
  }

  test::Folder folder_;
  std::string language_;
  std::string target_language_;
};

const LanguageSettings kXlm{.length = 30,
                            .mask = MaskOptions{},
                            .has_token_type_ids = false,
                            .languages = {"de", "en", "fr"},
                            .restarts_positions = true};

TEST_F(TranslationDatasetTest, BothTextsAreMaskedInOneSequence) {
  const auto dataset = make("a b c d\te f g h i j\n", 30);
  ASSERT_EQ(dataset->size(0), 1);
  std::set<bool> sides;
  Ids whole;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    Example example = dataset->example(epoch, 0);
    EXPECT_EQ(dataset->length(epoch, 0), 13);
    EXPECT_EQ(example.token_type_ids, (Ids{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
    ASSERT_EQ(example.targets.size(), 2U);  // 15 % of ten
    for (std::size_t i = 0; i < 2; ++i) {
      const auto position = static_cast<std::size_t>(example.target_positions[i]);
      sides.insert(position < 6);
      example.ids[position] = example.targets[i];
    }
    EXPECT_EQ(example.ids[5], 3);
    EXPECT_TRUE(whole.empty() || example.ids == whole);
    whole = example.ids;
  }
  EXPECT_EQ(sides.size(), 2U);
}

TEST_F(TranslationDatasetTest, HalvesRestartPositionsAndHaveTheirOwnLanguage) {
  language_ = "fr";
  target_language_ = "de";
  const auto dataset = make("a b\te f g\n", kXlm);
  const Example example = dataset->example(0, 0);
  ASSERT_EQ(example.ids.size(), 9U);  // [CLS] a b [SEP], [CLS] e f g [SEP]
  EXPECT_EQ(dataset->length(0, 0), 9);
  for (const auto& [position, id] :
       std::vector<std::pair<std::size_t, int64_t>>{{0, 2}, {3, 3}, {4, 2}, {8, 3}}) {
    EXPECT_EQ(example.ids[position], id) << position;
  }
  EXPECT_EQ(example.token_type_ids, (Ids{2, 2, 2, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(example.positions, (Ids{0, 1, 2, 3, 0, 1, 2, 3, 4}));
}

TEST_F(TranslationDatasetTest, PositionsContinueUnlessTheModelRestartsThem) {
  EXPECT_TRUE(make("a b\te f g\n", 30)->example(0, 0).positions.empty());
}

TEST_F(TranslationDatasetTest, ModelInputsArePartOfTheFingerprint) {
  language_ = "fr";
  target_language_ = "de";
  const auto told = make("a b\te f g\n", kXlm)->fingerprint();
  target_language_ = "en";
  EXPECT_NE(make("a b\te f g\n", kXlm)->fingerprint(), told);
}

TEST_F(TranslationDatasetTest, BothLanguagesMustBeKnown) {
  language_ = "fr";
  EXPECT_EQ(
      test::message_of<Error>([&] { make("a b\te f g\n", kXlm); }),
      "pairs.tsv: target_language: missing, must be one of the model's languages: de, en, fr");
  target_language_ = "en";
  language_ = "sw";
  EXPECT_EQ(test::message_of<Error>([&] { make("a b\te f g\n", kXlm); }),
            "pairs.tsv: language: 'sw', must be one of the model's languages: de, en, fr");
}

TEST_F(TranslationDatasetTest, EmptySidesAndLongPairsAreCounted) {
  const auto cut = make("a b c d e\tf\n\tg\nh\ti\n", 6);
  EXPECT_EQ(cut->size(0), 2);
  EXPECT_EQ(cut->length(0, 0), 6);
  EXPECT_EQ(cut->remarks(),
            (std::vector<std::string>{"pairs.tsv: 1 pair with an empty side was skipped",
                                      "pairs.tsv: 1 pair longer than 6 tokens was truncated"}));
  EXPECT_EQ(make("a b c d e\tf\nh\ti\n", 6, Truncation::kDrop)->size(0), 1);
  EXPECT_NE(cut->fingerprint(), make("a b c d e\tf\n\tg\nh\ti\n", 7)->fingerprint());
}

TEST_F(TranslationDatasetTest, SplittingIsRefusedForPairs) {
  EXPECT_EQ(test::message_of<Error>([&] { make("a\tb\n", 6, Truncation::kSplit); }),
            "data.overflow: split is only for running text, must be cut or drop for text pairs");
}

}  // namespace
}  // namespace weft::data
