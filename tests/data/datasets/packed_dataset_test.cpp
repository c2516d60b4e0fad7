#include "data/datasets/packed_dataset.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "data/fake_store.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

std::shared_ptr<const Tokenizer> packed_dataset_toy(int64_t size = 100000) {
  return std::make_shared<test::ToyTokenizer>(std::vector<std::string>{}, size);
}

TEST(PackedDataset, PutsTheTemplateAroundSentencesOfADocument) {
  const auto source = test::source({{{5, 6}, {7}, {8, 9, 10}}, {{11}}});
  const auto dataset = make_language_dataset({source}, {}, {.length = 5}, packed_dataset_toy());
  ASSERT_EQ(dataset->size(0), 3);
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 5, 6, 7, 3}));
  EXPECT_EQ(dataset->example(0, 0).token_type_ids, (Ids{0, 0, 0, 0, 0}));
  EXPECT_EQ(dataset->example(0, 1).ids, (Ids{2, 8, 9, 10, 3}));
  EXPECT_EQ(dataset->example(0, 2).ids, (Ids{2, 11, 3}));
  EXPECT_EQ(dataset->location(0, 2), "fake.txt, document 2, sequence 3");
  EXPECT_TRUE(dataset->example(0, 0).targets.empty());
}

TEST(PackedDataset, TypesAreTheLanguageOfTheSource) {
  auto german = test::source({{{5, 6}}});
  auto english = test::source({{{7, 8, 9}}});
  german.language = "de";
  english.language = "en";
  const LanguageSettings settings{
      .length = 8, .has_token_type_ids = false, .languages = {"de", "en"}};
  const auto dataset = make_language_dataset({german, english}, {}, settings, packed_dataset_toy());
  EXPECT_EQ(dataset->example(0, 0).token_type_ids, Ids(4, 0));
  EXPECT_EQ(dataset->example(0, 1).token_type_ids, Ids(5, 1));
  english.language = "de";
  EXPECT_NE(
      make_language_dataset({german, english}, {}, settings, packed_dataset_toy())->fingerprint(),
      dataset->fingerprint());
  english.language = "";
  EXPECT_THROW(make_language_dataset({german, english}, {}, settings, packed_dataset_toy()), Error);
}

TEST(PackedDataset, StreamPutsASeparatorBetweenDocuments) {
  const auto source = test::source({{{5, 6}}, {{7}}, {{8, 9}}, {{10}}});
  const auto dataset =
      make_language_dataset({source}, {.pack = Pack::kStream},
                            {.length = 8, .has_token_type_ids = false}, packed_dataset_toy());
  ASSERT_EQ(dataset->size(0), 2);
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 5, 6, 3, 7, 3}));  // `3 8 9` would make nine
  EXPECT_EQ(dataset->example(0, 1).ids, (Ids{2, 8, 9, 3, 10, 3}));
  EXPECT_TRUE(dataset->example(0, 0).token_type_ids.empty());
}

TEST(PackedDataset, LengthIsThatOfTheExample) {
  for (const Pack pack : {Pack::kNone, Pack::kDocument, Pack::kStream}) {
    for (const Truncation truncation :
         {Truncation::kTruncate, Truncation::kSplit, Truncation::kDrop}) {
      const auto source = test::source(test::counted_documents(300, 5, 12), 1.5);
      const auto dataset =
          make_language_dataset({source}, {.pack = pack, .truncation = truncation},
                                {.length = 14, .mask = MaskOptions{}}, packed_dataset_toy());
      for (int64_t item = 0; item < dataset->size(3); ++item) {
        const Example example = dataset->example(3, item);
        ASSERT_EQ(dataset->length(3, item), static_cast<int64_t>(example.ids.size()));
        ASSERT_EQ(example.token_type_ids.size(), example.ids.size());
        ASSERT_LE(example.ids.size(), 14U);
        ASSERT_FALSE(example.targets.empty());
      }
    }
  }
}

TEST(PackedDataset, MasksDifferByEpochAndByRepetition) {
  const auto source = test::source({{Ids(60, 7)}}, 2.0);
  const LanguageSettings settings{.length = 64, .mask = MaskOptions{}};
  const auto dataset = make_language_dataset({source}, {}, settings, packed_dataset_toy());
  ASSERT_EQ(dataset->size(0), 2);
  const Example base = dataset->example(0, 0);
  EXPECT_EQ(dataset->example(0, 0).ids, base.ids);
  EXPECT_NE(dataset->example(0, 1).target_positions, base.target_positions);
  EXPECT_NE(dataset->example(1, 0).target_positions, base.target_positions);

  LanguageSettings is_static = settings;
  is_static.mask->is_static = true;
  const auto fixed = make_language_dataset({source}, {}, is_static, packed_dataset_toy());
  EXPECT_EQ(fixed->example(7, 0).ids, fixed->example(0, 0).ids);
  EXPECT_NE(fixed->example(0, 1).ids, fixed->example(0, 0).ids);
}

TEST(PackedDataset, StaticMasksDependOnTheText) {
  const auto source = test::source(test::counted_documents(40, 1, 30), 0.5);
  const LanguageSettings settings{.length = 40, .mask = MaskOptions{.is_static = true}};
  const auto dataset = make_language_dataset({source}, {}, settings, packed_dataset_toy());
  std::map<std::string, std::set<Ids>> seen;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      seen[dataset->location(epoch, item)].insert(dataset->example(epoch, item).ids);
    }
  }
  EXPECT_EQ(seen.size(), 40U);
  for (const auto& [location, versions] : seen) {
    EXPECT_EQ(versions.size(), 1U) << location;
  }
}

TEST(PackedDataset, OneTextMoreChangesNoOtherMasks) {
  const auto few = test::counted_documents(5, 1, 30);
  auto more = few;
  more.push_back({{500, 501, 502}});
  const LanguageSettings settings{.length = 40, .mask = MaskOptions{}};
  const auto short_one =
      make_language_dataset({test::source(few)}, {}, settings, packed_dataset_toy());
  const auto long_one =
      make_language_dataset({test::source(more)}, {}, settings, packed_dataset_toy());
  for (int64_t item = 0; item < 5; ++item) {
    EXPECT_EQ(short_one->example(0, item).ids, long_one->example(0, item).ids);
  }
}

TEST(PackedDataset, ReportsSkippedDocuments) {
  auto source = test::source({{{5, 6, 7, 8}, {9}}, {{10}}});
  source.remarks = {"fake.txt: 1 line was not UTF-8"};
  const auto dropped = make_language_dataset({source}, {.truncation = Truncation::kDrop},
                                             {.length = 5}, packed_dataset_toy());
  EXPECT_EQ(dropped->size(0), 1);
  EXPECT_EQ(dropped->remarks(),
            (std::vector<std::string>{"fake.txt: 1 line was not UTF-8",
                                      "fake.txt: 1 document longer than 5 tokens was dropped"}));
  const auto cut = make_language_dataset({source}, {.truncation = Truncation::kTruncate},
                                         {.length = 5}, packed_dataset_toy());
  EXPECT_EQ(cut->size(0), 2);
  EXPECT_EQ(cut->remarks().back(), "fake.txt: 1 document longer than 5 tokens was truncated");
}

TEST(PackedDataset, RefusesEmptyFiles) {
  EXPECT_THROW(make_language_dataset({test::source({})}, {}, {.length = 8}, packed_dataset_toy()),
               Error);
  EXPECT_THROW(
      make_language_dataset({test::source({{{5}}})}, {}, {.length = 2}, packed_dataset_toy()),
      Error);
  EXPECT_THROW(
      make_language_dataset({test::source({{{5, 6, 7}}})}, {.truncation = Truncation::kDrop},
                            {.length = 4}, packed_dataset_toy()),
      Error);
}

TEST(PackedDataset, FingerprintDependsOnContentAndSettings) {
  const auto source = test::source({{{5, 6, 7}}});
  const auto hash = [&](const LanguageSource& from, const LanguagePacking& packing,
                        const LanguageSettings& settings) {
    return make_language_dataset({from}, packing, settings, packed_dataset_toy())->fingerprint();
  };
  LanguageSource other = source;
  other.store = std::make_shared<test::FakeStore>(test::FakeStore::Documents{{{5, 6, 7}}}, 2);
  LanguageSource heavier = source;
  heavier.weight = 2;
  const std::set<uint64_t> all = {
      hash(source, {}, {.length = 16}),
      hash(other, {}, {.length = 16}),
      hash(heavier, {}, {.length = 16}),
      hash(source, {.pack = Pack::kNone}, {.length = 16}),
      hash(source, {.truncation = Truncation::kTruncate}, {.length = 16}),
      hash(source, {}, {.length = 17}),
      hash(source, {}, {.length = 16, .mask = MaskOptions{}}),
      hash(source, {}, {.length = 16, .mask = MaskOptions{.fraction = 0.2}}),
      hash(source, {}, {.length = 16, .seed = 2}),
  };
  EXPECT_EQ(all.size(), 9U);
  EXPECT_EQ(hash(source, {}, {.length = 16}), hash(source, {}, {.length = 16}));
}

}  // namespace
}  // namespace weft::data
