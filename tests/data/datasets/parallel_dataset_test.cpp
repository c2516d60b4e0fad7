#include "data/datasets/parallel_dataset.h"

#include <gtest/gtest.h>

#include "data/data_loader.h"
#include "data/error.h"
#include "data/rows/parallel_reader.h"
#include "data/text/statistics.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;
using WordList = std::vector<std::string>;

/// A toy tokenizer whose sequences end with a language token, as for mBART.
class LanguageTokenizer : public test::ToyTokenizer {
 public:
  LanguageTokenizer() : ToyTokenizer({"a", "b", "c", "<en>", "<de>"}) {}
  Sequence sequence(const std::vector<int32_t>& first) const override {
    Sequence result;
    result.ids = first;
    result.ids.insert(result.ids.end(), {3, 8});
    result.token_type_ids.resize(result.ids.size(), 0);
    result.is_special.resize(result.ids.size(), 0);
    result.is_special[result.ids.size() - 2] = result.is_special[result.ids.size() - 1] = 1;
    return result;
  }
};

class ParallelDatasetTest : public ::testing::Test {
 protected:
  ParallelDatasetTest() { options_.cache = folder_.path("cache"); }

  DataItem table(const std::string& name, const std::string& content) {
    return test::data_item(folder_, name, content);
  }
  DataItem lines(const std::string& source, const std::string& target) {
    DataItem result;
    result.source = folder_.write("x.en", source);
    result.target = folder_.write("x.de", target);
    result.path = *result.source;
    result.files = {*result.source};
    result.target_files = {*result.target};
    return result;
  }
  std::shared_ptr<const Dataset> make(const std::vector<DataItem>& items,
                                      const ParallelSettings& settings = {}) {
    return make_parallel_dataset(items, options_, settings, tokenizer_);
  }
  template <class Work>
  std::string message(const Work& work) {
    try {
      work();
    } catch (const UserError& error) {
      std::string text = error.what();
      for (auto at = text.find(folder_.path() + "/"); at != std::string::npos;
           at = text.find(folder_.path() + "/")) {
        text.erase(at, folder_.path().size() + 1);
      }
      return text;
    }
    return "nothing thrown";
  }

  test::Folder folder_;
  DataOptions options_;
  std::shared_ptr<const Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(WordList{"a", "b", "c", "d"});  // ids 5 to 8
};

TEST_F(ParallelDatasetTest, JoinsBothSidesForADecoder) {
  const auto pairs = lines("a b\nc\n", "d\nb a c\n");
  const auto dataset = make({pairs}, {.length = 12, .is_joined = true});
  const auto first = dataset->example(0, 0);  // [CLS] a b [SEP] d [SEP]
  EXPECT_EQ(first.ids, (Ids{2, 5, 6, 3, 8}));
  EXPECT_TRUE(first.source_ids.empty());
  EXPECT_EQ(first.prefix_length, 4);
  EXPECT_EQ(first.targets, (Ids{8, 3}));
  EXPECT_EQ(first.target_positions, (Ids{3, 4}));
  EXPECT_EQ(dataset->length(0, 0), 5);
  EXPECT_NE(dataset->fingerprint(), make({pairs}, {.length = 12})->fingerprint());
}

TEST_F(ParallelDatasetTest, JoinedPairsShareTheLength) {
  const auto pairs = lines("a b c d\na\n", "d c b\nb\n");
  const auto cut = make({pairs}, {.length = 6, .is_joined = true});  // 4 of both texts
  EXPECT_EQ(cut->example(0, 0).ids, (Ids{2, 5, 6, 3, 8, 7}));
  EXPECT_EQ(cut->example(0, 0).targets, (Ids{8, 7, 3}));
  EXPECT_EQ(cut->remarks(),
            (WordList{folder_.path("x.en") + ": 1 pair longer than 6 tokens was truncated"}));
  const auto dropped =
      make({pairs}, {.length = 6, .truncation = Truncation::kDrop, .is_joined = true});
  EXPECT_EQ(dropped->size(0), 1);
  EXPECT_EQ(message([&] { make({pairs}, {.length = 3, .is_joined = true}); }),
            "data.length: 3 tokens leave no space for two texts");
}

TEST_F(ParallelDatasetTest, ShiftsTheTargetBehindWhatTheDecoderBeginsWith) {
  const auto dataset = make({lines("a b\nc\n", "d\nb a c\n")}, {.start_id = 4});
  ASSERT_EQ(dataset->size(0), 2);
  const auto first = dataset->example(0, 0);
  EXPECT_EQ(first.source_ids, (Ids{2, 5, 6, 3}));
  EXPECT_EQ(first.targets, (Ids{2, 8, 3}));
  EXPECT_EQ(first.ids, (Ids{4, 2, 8}));
  EXPECT_EQ(first.target_positions, (Ids{0, 1, 2}));
  const auto second = dataset->example(0, 1);
  EXPECT_EQ(second.source_ids, (Ids{2, 7, 3}));
  EXPECT_EQ(second.targets, (Ids{2, 6, 5, 7, 3}));
  EXPECT_EQ(dataset->length(0, 0), 7);
  EXPECT_EQ(dataset->length(0, 1), 8);
  EXPECT_TRUE(dataset->remarks().empty());
}

TEST_F(ParallelDatasetTest, ReadsEveryKindOfTableAndNamedColumns) {
  auto named = table("y.tsv", "de\tx\ten\nd\t\ta b\n");
  named.source = "en";
  named.target = "de";
  for (const auto& item : {named, table("x.tsv", "source\ttarget\na b\td\n"),
                           table("x.csv", "target,source\r\nd,\"a b\"\r\n"),
                           table("x.jsonl", "{\"source\": \"a b\", \"target\": \"d\"}\n")}) {
    const auto example = make({item})->example(0, 0);
    EXPECT_EQ(example.source_ids, (Ids{2, 5, 6, 3})) << item.path;
    EXPECT_EQ(example.targets, (Ids{2, 8, 3}));
  }
}

TEST_F(ParallelDatasetTest, OtherNumberOfLinesNamesBothFilesAndCounts) {
  EXPECT_EQ(message([&] { make({lines("a\nb\nc\n", "a\n")}); }),
            "x.en: 3 lines, but x.de has 1: files with translations of each other must have the "
            "same number of lines");
  EXPECT_EQ(message([&] { make({lines("a\n", "a\nb\n")}); }),
            "x.en: 1 lines, but x.de has 2: files with translations of each other must have the "
            "same number of lines");
}

TEST_F(ParallelDatasetTest, SkipsEmptySidesAndKeepsLocations) {
  const auto dataset = make({lines("a\n\n  \nb\nc\n", "a\nb\nc\n\t\nd\n")});
  ASSERT_EQ(dataset->size(0), 2);
  EXPECT_EQ(dataset->example(0, 1).targets, (Ids{2, 8, 3}));
  EXPECT_TRUE(dataset->location(0, 1).ends_with("x.en, line 5")) << dataset->location(0, 1);
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_TRUE(dataset->remarks()[0].ends_with("3 pairs with an empty side were skipped"));
}

TEST_F(ParallelDatasetTest, AllPairsEmptyGivesNoExamples) {
  EXPECT_EQ(message([&] { make({lines("\n\n", "\n\n")}); }),
            "x.en: no text pairs left with at most 512 tokens per side");
  EXPECT_EQ(message([&] { make({lines("", "")}); }), "x.en: no text pairs, must have at least one");
}

TEST_F(ParallelDatasetTest, TruncatesOrDropsLongTexts) {
  const auto item = lines("a b c d\na\n", "a\nb c d a\n");
  const auto cut = make({item}, {.length = 4});
  ASSERT_EQ(cut->size(0), 2);
  EXPECT_EQ(cut->example(0, 0).source_ids, (Ids{2, 5, 6, 3}));
  EXPECT_EQ(cut->example(0, 1).targets, (Ids{2, 6, 7, 3}));
  EXPECT_EQ(cut->length(0, 0), 7);
  EXPECT_TRUE(
      cut->remarks().at(0).ends_with("2 pairs with a text longer than 4 tokens were truncated"));
  const auto one = lines("a b c d\na\n", "a\nb\n");
  const auto dropped = make({one}, {.length = 4, .truncation = Truncation::kDrop});
  ASSERT_EQ(dropped->size(0), 1);
  EXPECT_TRUE(dropped->location(0, 0).ends_with("line 2"));
  EXPECT_TRUE(
      dropped->remarks().at(0).ends_with("1 pair with a text longer than 4 tokens was dropped"));
  EXPECT_EQ(message([&] { make({one}, {.truncation = Truncation::kSplit}); }),
            "data.overflow: split is only for running text, must be cut or drop for text pairs");
  EXPECT_EQ(message([&] { make({one}, {.length = 2}); }),
            "data.length: 2 tokens, must be larger than the number of special tokens (2)");
}

TEST_F(ParallelDatasetTest, TruncatesOnTheLeftIfTheTokenizerDoes) {
  tokenizer_ = std::make_shared<test::LeftTruncatingTokenizer>(WordList{"a", "b", "c", "d"});
  const auto cut = make({lines("a b c d\na\n", "a\nb c d a\n")}, {.length = 4});
  EXPECT_EQ(cut->example(0, 0).source_ids, (Ids{2, 7, 8, 3}));
  EXPECT_EQ(cut->example(0, 0).targets, (Ids{2, 5, 3}));
  EXPECT_EQ(cut->example(0, 1).targets, (Ids{2, 8, 5, 3}));
}

TEST_F(ParallelDatasetTest, PrefixIsAddedToEverySource) {
  const auto dataset = make({lines("a\nb\n", "c\nd\n")}, {.prefix = "d c "});
  EXPECT_EQ(dataset->example(0, 1).source_ids, (Ids{2, 8, 7, 6, 3}));
  EXPECT_EQ(dataset->example(0, 1).targets, (Ids{2, 8, 3}));
}

TEST_F(ParallelDatasetTest, LanguageTokensAreReplacedAndStartTheTarget) {
  tokenizer_ = std::make_shared<LanguageTokenizer>();
  const auto dataset = make({lines("a b\n", "c\n")}, {.start_id = -1, .target_language = "<de>"});
  const auto example = dataset->example(0, 0);
  EXPECT_EQ(example.source_ids, (Ids{5, 6, 3, 8}));
  EXPECT_EQ(example.targets, (Ids{7, 3, 9}));
  EXPECT_EQ(example.ids, (Ids{9, 7, 3}));
  EXPECT_EQ(message([&] { make({lines("a\n", "b\n")}, {.source_language = "<fr>"}); }),
            "objective.source_language: '<fr>' is not a token of the tokenizer");
  tokenizer_ = std::make_shared<test::ToyTokenizer>(WordList{"a", "<de>"});
  EXPECT_EQ(message([&] { make({lines("a\n", "b\n")}, {.target_language = "<de>"}); }),
            "objective.target_language: '<de>', but the tokenizer adds no language token to texts");
}

TEST_F(ParallelDatasetTest, ItemLanguagesOverrideTheObjective) {
  tokenizer_ = std::make_shared<LanguageTokenizer>();
  auto there = table("there.tsv", "source\ttarget\na b\tc\n");
  there.language = "<en>";
  there.target_language = "<de>";
  auto back = table("back.tsv", "source\ttarget\nc\ta b\n");
  back.language = "<de>";
  ParallelSettings settings{
      .start_id = -1, .target_language = "<en>", .takes_item_languages = true};
  const auto dataset = make({there, back}, settings);
  EXPECT_EQ(dataset->example(0, 0).source_ids, (Ids{5, 6, 3, 8}));
  EXPECT_EQ(dataset->example(0, 0).targets, (Ids{7, 3, 9}));
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{9, 7, 3}));
  EXPECT_EQ(dataset->example(0, 1).source_ids, (Ids{7, 3, 9}));
  EXPECT_EQ(dataset->example(0, 1).targets, (Ids{5, 6, 3, 8}));
  EXPECT_EQ(dataset->example(0, 1).ids, (Ids{8, 5, 6, 3}));
  auto other = back;
  other.language = "<en>";
  EXPECT_NE(make({there, other}, settings)->fingerprint(), dataset->fingerprint());
  other.language = "<fr>";
  EXPECT_EQ(message([&] {
              make({there, other}, settings);
            }),
            "back.tsv: language: '<fr>' is not a token of the tokenizer");
  // For other models they are only names.
  settings.takes_item_languages = false;
  EXPECT_EQ(make({other}, settings)->example(0, 0).source_ids, (Ids{7, 3, 8}));
}

TEST_F(ParallelDatasetTest, WeightsRepeatPairs) {
  auto item = lines("a\nb\n", "c\nd\n");
  item.weight = 1.5;
  EXPECT_EQ(make({item})->size(0), 3);
}

TEST_F(ParallelDatasetTest, FingerprintDependsOnContentAndSettings) {
  const auto item = lines("a\nb\n", "c\nd\n");
  const auto base = make({item})->fingerprint();
  EXPECT_EQ(make({item})->fingerprint(), base);
  EXPECT_NE(make({item}, {.length = 100})->fingerprint(), base);
  EXPECT_NE(make({item}, {.prefix = "a "})->fingerprint(), base);
  EXPECT_NE(make({item}, {.start_id = 3})->fingerprint(), base);
  auto heavy = item;
  heavy.weight = 2;
  EXPECT_NE(make({heavy})->fingerprint(), base);
  EXPECT_NE(make({lines("a\nb\n", "c\nc\n")})->fingerprint(), base);
}

TEST_F(ParallelDatasetTest, BatchesHoldTwoStreams) {
  const std::shared_ptr<const Dataset> dataset = make({lines("a b\nc\n", "d\nb a c\n")});
  DataLoader loader(dataset, {.shuffles = false, .batch_tokens = 15, .workers = 0});
  const auto step = loader.next();
  ASSERT_TRUE(step);
  const auto& batch = step->micro_batches.at(0);
  EXPECT_EQ(batch.source_offsets, (Ids{0, 4, 7}));
  EXPECT_EQ(batch.offsets, (Ids{0, 3, 8}));
  EXPECT_EQ(batch.target_rows, (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(ParallelDatasetTest, StatisticsCountBothSides) {
  const auto counts = dataset_statistics(*make({lines("a b\nx\n", "d\nb x c\n")}), 0, 1, 100);
  EXPECT_EQ(counts.sequences.total(), 7 + 8);
  EXPECT_EQ(counts.unknown, 2);
  EXPECT_EQ(counts.targets, 3 + 5);
}

TEST_F(ParallelDatasetTest, VisitsBothSidesForTheTokenizer) {
  WordList seen;
  visit_parallel_texts({lines("a b\nc\n", "d\n\xff\n")},
                       [&](std::string_view text) { seen.emplace_back(text); });
  EXPECT_EQ(seen, (WordList{"a b", "d", "c", "\xef\xbf\xbd"}));
}

TEST_F(ParallelDatasetTest, SeveralFilesGoTogetherByTheirOrder) {
  DataItem item;
  item.path = folder_.path("*.en");
  item.source = item.path;
  item.target = folder_.path("*.de");
  item.files = {folder_.write("1.en", "a\n"), folder_.write("2.en", "b\nc\n")};
  item.target_files = {folder_.write("1.de", "b\n"), folder_.write("2.de", "c\nd\n")};
  const auto dataset = make({item});
  ASSERT_EQ(dataset->size(0), 3);
  EXPECT_TRUE(dataset->location(0, 0).ends_with("1.en, line 1"));
  EXPECT_TRUE(dataset->location(0, 2).ends_with("2.en, line 2"));
  EXPECT_EQ(dataset->example(0, 2).targets, (Ids{2, 8, 3}));
}

}  // namespace
}  // namespace weft::data
