#include "data/datasets/causal_dataset.h"

#include <gtest/gtest.h>

#include "data/error.h"
#include "data/fake_store.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

/// No template; [SEP], 3, is the end of text.
class EndTokenizer : public test::ToyTokenizer {
 public:
  EndTokenizer() : ToyTokenizer({}, 100000) {}
  Sequence sequence(const std::vector<int32_t>& first) const override {
    return {.ids = first,
            .token_type_ids = std::vector<int32_t>(first.size(), 0),
            .is_special = std::vector<uint8_t>(first.size(), 0)};
  }
  SpecialTokenIds special_token_ids() const override { return {.eos = 3}; }
};

CausalDataset causal_dataset_made(const test::FakeStore::Documents& documents,
                                  Pack pack,
                                  int64_t length,
                                  Truncation truncation = Truncation::kSplit) {
  return {{test::source(documents)},
          {.pack = pack, .truncation = truncation},
          {.length = length, .has_token_type_ids = false},
          EndTokenizer()};
}

std::vector<Ids> inputs_and_targets(const Dataset& dataset) {
  std::vector<Ids> found;
  for (int64_t item = 0; item < dataset.size(0); ++item) {
    const Example example = dataset.example(0, item);
    EXPECT_EQ(dataset.length(0, item), static_cast<int64_t>(example.ids.size()));
    EXPECT_EQ(example.target_positions.size(), example.targets.size());
    found.push_back(example.ids);
    found.push_back(example.targets);
  }
  return found;
}

TEST(CausalDataset, ADocumentIsASequenceWithTheEndAfterIt) {
  const auto dataset = causal_dataset_made({{{5, 6}, {7}}, {{8}}}, Pack::kDocument, 8);
  EXPECT_EQ(inputs_and_targets(dataset), (std::vector<Ids>{{5, 6, 7}, {6, 7, 3}, {8}, {3}}));
  EXPECT_EQ(dataset.example(0, 0).target_positions, (Ids{0, 1, 2}));
  EXPECT_EQ(dataset.location(0, 1), "fake.txt, document 2, sequence 2");
}

TEST(CausalDataset, SplitDocumentsPredictAllButTheFirstToken) {
  const auto dataset = causal_dataset_made({{{5, 6, 7, 8, 9}}, {{10}}}, Pack::kDocument, 2);
  EXPECT_EQ(inputs_and_targets(dataset),
            (std::vector<Ids>{{5, 6}, {6, 7}, {7, 8}, {8, 9}, {9}, {3}, {10}, {3}}));
}

TEST(CausalDataset, TruncatedDocumentsKeepTheirFirstTokens) {
  const auto dataset =
      causal_dataset_made({{{5, 6, 7, 8}}, {{9}}}, Pack::kDocument, 3, Truncation::kTruncate);
  EXPECT_EQ(inputs_and_targets(dataset), (std::vector<Ids>{{5, 6}, {6, 7}, {9}, {3}}));
  EXPECT_EQ(dataset.remarks(),
            std::vector<std::string>{"fake.txt: 1 document longer than 3 tokens was truncated"});
}

TEST(CausalDataset, DroppedDocumentsAreCounted) {
  const auto dataset =
      causal_dataset_made({{{5, 6, 7, 8}}, {{9}}}, Pack::kDocument, 3, Truncation::kDrop);
  EXPECT_EQ(inputs_and_targets(dataset), (std::vector<Ids>{{9}, {3}}));
  EXPECT_EQ(dataset.remarks().size(), 1U);
}

TEST(CausalDataset, StreamReadsLengthTokensAndPredictsTheFirstOfTheNextChunk) {
  const auto dataset = causal_dataset_made({{{5, 6, 7}}, {{8}}, {{9, 10}}}, Pack::kStream, 4);
  EXPECT_EQ(inputs_and_targets(dataset),
            (std::vector<Ids>{{5, 6, 7, 3}, {6, 7, 3, 8}, {8, 3, 9, 10}, {3, 9, 10, 3}}));
}

TEST(CausalDataset, StreamOfManyDocumentsIsReadInOrder) {
  const auto documents = test::counted_documents(200, 3, 5);
  Ids whole;
  for (const auto& document : documents) {
    for (const auto& sentence : document) {
      whole.insert(whole.end(), sentence.begin(), sentence.end());
    }
    whole.push_back(3);
  }
  for (const int64_t length : {1, 2, 7, 64}) {
    const auto dataset = causal_dataset_made(documents, Pack::kStream, length);
    Ids targets{whole.front()};
    for (int64_t item = 0; item < dataset.size(0); ++item) {
      const Example example = dataset.example(0, item);
      EXPECT_EQ(example.ids.front(), targets.back());
      targets.insert(targets.end(), example.targets.begin(), example.targets.end());
    }
    EXPECT_EQ(targets, whole);
  }
}

TEST(CausalDataset, TheTemplateSurroundsEachDocument) {
  const CausalDataset dataset({test::source({{{5, 6}}, {{7}}})}, {.pack = Pack::kStream},
                              {.length = 10}, test::ToyTokenizer({}, 100));
  EXPECT_EQ(dataset.example(0, 0).ids, (Ids{2, 5, 6, 3, 2, 7}));
  EXPECT_EQ(dataset.example(0, 0).targets, (Ids{5, 6, 3, 2, 7, 3}));
  EXPECT_EQ(dataset.example(0, 0).token_type_ids, Ids(6, 0));
}

TEST(CausalDataset, TheFirstExampleHasTheCountsOfTheTexts) {
  const test::Folder folder;
  DataItem item;
  item.path = "a.txt";
  item.files = {folder.write("a.txt", "one two\nthree\n\nfour")};
  DataOptions options;
  options.cache = folder.path("cache");
  const auto make = [&](bool counts) {
    return make_causal_dataset({item}, options,
                               {.length = 2, .has_token_type_ids = false, .counts_texts = counts},
                               EndTokenizer());
  };
  const auto dataset = make(true);
  EXPECT_EQ(dataset->size(0), 3);  // four tokens and an end token, two inputs per sequence
  EXPECT_EQ(dataset->example(0, 0).values, (std::vector<double>{4, 17, 17}));
  EXPECT_EQ(dataset->example(0, 1).values, (std::vector<double>{0, 0, 0}));
  EXPECT_TRUE(make(false)->example(0, 0).values.empty());
  options.truncation = Truncation::kTruncate;  // not all of the text is predicted
  EXPECT_TRUE(make(true)->example(0, 0).values.empty());
}

TEST(CausalDataset, SequencesOfSingleLinesAreRefused) {
  EXPECT_EQ(
      test::message_of<Error>([] { causal_dataset_made({{{5}}}, Pack::kNone, 4); }),
      "data.pack: none is not supported by causal language modelling, must be document or stream");
}

TEST(MixLanguages, GivesEachLanguageItsFraction) {
  std::vector<DataItem> items(3);
  items[0].language = items[1].language = "en";
  items[2].language = "sw";
  std::vector<LanguageSource> sources = {
      test::source({{Ids(600, 7)}}), test::source({{Ids(300, 7)}}), test::source({{Ids(100, 7)}})};
  mix_languages(items, 0.5, sources);
  // Roots of 900 and 100: three quarters and one quarter of 1,000 tokens.
  EXPECT_NEAR(sources[0].weight, 750.0 / 900, 1e-9);
  EXPECT_EQ(sources[1].weight, sources[0].weight);
  EXPECT_NEAR(sources[2].weight, 2.5, 1e-9);
  sources = {test::source({{Ids(600, 7)}}), test::source({{Ids(300, 7)}}),
             test::source({{Ids(100, 7)}})};
  mix_languages(items, 1, sources);
  EXPECT_NEAR(sources[2].weight, 1, 1e-9);
}

}  // namespace
}  // namespace weft::data
