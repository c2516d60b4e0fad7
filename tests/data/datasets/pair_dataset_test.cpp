#include "data/datasets/pair_dataset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/datasets/packing.h"
#include "data/error.h"
#include "data/fake_store.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

std::shared_ptr<const Tokenizer> pair_dataset_toy() {
  return std::make_shared<test::ToyTokenizer>(std::vector<std::string>{}, 1000000);
}

struct Texts {
  Ids first, second;
};

/// The two texts of `[CLS] a [SEP] b [SEP]`.
Texts texts_of(const Example& example) {
  const auto middle = std::find(example.ids.begin() + 1, example.ids.end(), 3);
  return {{example.ids.begin() + 1, middle}, {middle + 1, example.ids.end() - 1}};
}

bool counts_up(const Ids& ids) {
  return std::adjacent_find(ids.begin(), ids.end(),
                            [](int64_t a, int64_t b) { return b != a + 1; }) == ids.end();
}

/// Which document an id comes from.
std::map<int64_t, int64_t> owners(const test::FakeStore::Documents& documents) {
  std::map<int64_t, int64_t> found;
  for (std::size_t document = 0; document < documents.size(); ++document) {
    for (const auto& sentence : documents[document]) {
      for (const int64_t id : sentence) {
        found[id] = static_cast<int64_t>(document);
      }
    }
  }
  return found;
}

std::shared_ptr<const Dataset> pairs(const std::vector<LanguageSource>& sources,
                                     PairTask task,
                                     int64_t length = 32,
                                     const LanguagePacking& packing = {}) {
  return make_language_dataset(sources, packing, {.length = length, .pair = task},
                               pair_dataset_toy());
}

TEST(PairDataset, NextSentencePairsAreValid) {
  const auto documents = test::counted_documents(200, 12, 14);
  const auto owner = owners(documents);
  const auto dataset = pairs({test::source(documents)}, PairTask::kNextSentence);
  double strangers = 0;
  double all = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      const Example example = dataset->example(epoch, item);
      ASSERT_EQ(dataset->length(epoch, item), static_cast<int64_t>(example.ids.size()));
      ASSERT_LE(example.ids.size(), 32U);
      const Texts texts = texts_of(example);
      ASSERT_FALSE(texts.first.empty());
      ASSERT_FALSE(texts.second.empty());
      ASSERT_TRUE(counts_up(texts.first) && counts_up(texts.second));
      const bool is_other = owner.at(texts.first[0]) != owner.at(texts.second[0]);
      ASSERT_EQ(example.label, is_other ? 1 : 0);
      if (!is_other) {
        ASSERT_LT(texts.first.back(), texts.second.front());
      }
      ASSERT_EQ(std::count(example.token_type_ids.begin(), example.token_type_ids.end(), 1),
                static_cast<std::ptrdiff_t>(texts.second.size()) + 1);
      strangers += is_other ? 1 : 0;
      all += 1;
    }
  }
  EXPECT_NEAR(strangers / all, 0.5, 4 * 0.5 / std::sqrt(all));
}

TEST(PairDataset, SentenceOrderSwapsHalf) {
  const auto documents = test::counted_documents(200, 12, 14);
  const auto owner = owners(documents);
  const auto dataset = pairs({test::source(documents)}, PairTask::kSentenceOrder);
  double swapped = 0;
  double all = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      const Example example = dataset->example(epoch, item);
      ASSERT_EQ(dataset->length(epoch, item), static_cast<int64_t>(example.ids.size()));
      const Texts texts = texts_of(example);
      ASSERT_EQ(owner.at(texts.first[0]), owner.at(texts.second[0]));
      ASSERT_EQ(example.label, texts.first[0] > texts.second[0] ? 1 : 0);
      swapped += static_cast<double>(example.label);
      all += 1;
    }
  }
  EXPECT_NEAR(swapped / all, 0.5, 4 * 0.5 / std::sqrt(all));
}

TEST(PairDataset, SkipsDocumentsWithOneSentence) {
  auto documents = test::counted_documents(300, 4, 9);  // a quarter of them has one sentence
  std::set<int64_t> alone;
  for (const auto& document : documents) {
    if (document.size() == 1) {
      alone.insert(document[0].begin(), document[0].end());
    }
  }
  ASSERT_GT(alone.size(), 100U);
  const auto dataset = pairs({test::source(documents)}, PairTask::kNextSentence, 64);
  double strangers = 0;
  double all = 0;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      const Example example = dataset->example(epoch, item);
      strangers += static_cast<double>(example.label);
      all += 1;
      for (const int64_t id : example.ids) {
        ASSERT_FALSE(alone.contains(id));
      }
    }
  }
  EXPECT_NEAR(strangers / all, 0.5, 4 * 0.5 / std::sqrt(all));
  EXPECT_EQ(dataset->remarks().size(), 1U);
}

TEST(PairDataset, RandomSecondTextsLookLikeSuccessors) {
  // Ids encode the position of a sentence: 5 at the start of a document, 6 within it.
  test::FakeStore::Documents documents(100);
  for (auto& document : documents) {
    document.assign(20, Ids(6, 6));
    document.front() = Ids(6, 5);
  }
  const auto dataset = pairs({test::source(documents)}, PairTask::kNextSentence, 40);
  std::map<int64_t, double> lengths;
  std::map<int64_t, double> counts;
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      const Example example = dataset->example(epoch, item);
      const Ids second = texts_of(example).second;
      ASSERT_EQ(std::count(second.begin(), second.end(), 5), 0);
      lengths[example.label] += static_cast<double>(second.size());
      ++counts[example.label];
    }
  }
  EXPECT_NEAR(lengths[0] / counts[0], lengths[1] / counts[1], 1.0);
}

TEST(PairDataset, EverySentenceComesInSomeEpoch) {
  auto documents = test::counted_documents(30, 9, 8);
  std::erase_if(documents, [](const auto& document) { return document.size() == 1; });
  const auto dataset = pairs({test::source(documents)}, PairTask::kNextSentence);
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      const Example example = dataset->example(epoch, item);
      seen.insert(example.ids.begin(), example.ids.end());
    }
  }
  EXPECT_EQ(seen.size(), owners(documents).size() + 2);
}

TEST(PairDataset, DividesAndPairsDifferentlyInEachEpoch) {
  const auto documents = test::counted_documents(50, 9, 8);
  const auto dataset = pairs({test::source(documents)}, PairTask::kNextSentence, 48);
  int64_t same = 0;
  for (int64_t item = 0; item < dataset->size(0); ++item) {
    EXPECT_EQ(dataset->example(0, item).ids, dataset->example(0, item).ids);
    same += dataset->example(0, item).ids == dataset->example(1, item).ids ? 1 : 0;
  }
  EXPECT_LT(same, dataset->size(0) / 3);
}

TEST(PairDataset, TruncatesTheLongerTextOnBothSides) {
  Ids longer(60);
  for (std::size_t i = 0; i < longer.size(); ++i) {
    longer[i] = static_cast<int64_t>(100 + i);
  }
  const auto dataset =
      pairs({test::source({{{5, 6, 7, 8}, longer}, {{9}}})}, PairTask::kSentenceOrder, 32);
  double cuts = 0;
  for (int64_t epoch = 0; epoch < 500; ++epoch) {
    const Texts texts = texts_of(dataset->example(epoch, 0));
    const bool is_swapped = texts.first.size() > texts.second.size();
    const Ids& cut = is_swapped ? texts.first : texts.second;
    EXPECT_EQ((is_swapped ? texts.second : texts.first), (Ids{5, 6, 7, 8}));
    ASSERT_EQ(cut.size(), 25U);
    cuts += static_cast<double>(cut.front() - 100);
  }
  EXPECT_NEAR(cuts / 500, 17.5, 0.6);  // half of 35 cuts; their deviation is 3
}

TEST(PairDataset, TakesTheRandomTextFromTheSameSourceIfPossible) {
  const test::FakeStore::Documents first = {{{5}, {6}}, {{7}, {8}}};
  const test::FakeStore::Documents second = {{{20}, {21}}};
  const auto dataset = pairs({test::source(first), test::source(second)}, PairTask::kNextSentence);
  ASSERT_EQ(dataset->size(0), 3);
  std::set<int64_t> of_first;
  std::set<int64_t> of_second;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const Example one = dataset->example(epoch, 0);
    if (one.label == 1) {
      const Ids text = texts_of(one).second;
      of_first.insert(text.begin(), text.end());
    }
    const Example two = dataset->example(epoch, 2);
    if (two.label == 1) {
      const Ids text = texts_of(two).second;
      of_second.insert(text.begin(), text.end());
    }
  }
  EXPECT_EQ(of_first, (std::set<int64_t>{8}));  // what follows in the other document
  EXPECT_EQ(of_second, (std::set<int64_t>{6, 8}));
}

TEST(PairDataset, RefusesWhatHasNoPairs) {
  EXPECT_THROW(pairs({test::source({{{5}, {6}}})}, PairTask::kNextSentence), Error);
  EXPECT_THROW(pairs({test::source({{{5}}, {{6}}})}, PairTask::kNextSentence), Error);
  EXPECT_THROW(pairs({test::source({{{5}}, {{6}}})}, PairTask::kSentenceOrder), Error);
  EXPECT_THROW(pairs({test::source({{{5}, {6}}, {{7}}})}, PairTask::kNextSentence), Error);
  EXPECT_THROW(pairs({test::source({{{5}, {6}}, {{7}, {8}}})}, PairTask::kNextSentence, 4), Error);
  EXPECT_THROW(pairs({test::source({{{5}, {6}}, {{7}}})}, PairTask::kNextSentence, 32,
                     {.pack = Pack::kStream}),
               Error);
  EXPECT_NO_THROW(pairs({test::source({{{5}, {6}}})}, PairTask::kSentenceOrder));
}

TEST(PairDataset, NamesDocumentAndSentence) {
  const auto dataset = pairs({test::source({{{5}}, {{6}, {7}}})}, PairTask::kSentenceOrder);
  EXPECT_EQ(dataset->location(0, 0), "fake.txt, document 2, sentence 1");
}

TEST(DivideDocuments, ReachesTheTargetWithAtLeastTwoSentences) {
  const test::FakeStore store(test::counted_documents(3000, 20, 12));
  const Chunks result = chunk_documents(store, {.max_tokens = 40});
  double shorter = 0;
  double all = 0;
  for (const PairChunk& chunk : result.chunks) {
    const auto last = chunk.first + chunk.sentences;
    const int64_t tokens = store.first_token(last) - store.first_token(chunk.first);
    const int64_t without = store.first_token(last - 1) - store.first_token(chunk.first);
    if (chunk.sentences > 2) {
      ASSERT_LT(without, chunk.target);
    }
    ASSERT_GE(chunk.sentences, 2U);
    ASSERT_TRUE(tokens >= chunk.target ||
                store.first_sentence(document_of_sentence(store, chunk.first) + 1) == last);
    ASSERT_LE(chunk.target, 40U);
    ASSERT_GE(chunk.target, 2U);
    shorter += chunk.target < 40 ? 1 : 0;
    all += 1;
  }
  EXPECT_NEAR(shorter / all, 0.1 * 38 / 39, 0.02);
}

TEST(DivideDocuments, CoversEverySentenceOfLongerDocuments) {
  const test::FakeStore store(test::counted_documents(500, 20, 12));
  const Chunks result = chunk_documents(store, {.max_tokens = 40});
  std::set<int64_t> covered;
  for (const PairChunk& chunk : result.chunks) {
    for (int64_t i = 0; i < chunk.sentences; ++i) {
      covered.insert(chunk.first + i);
    }
    EXPECT_EQ(document_of_sentence(store, chunk.first),
              document_of_sentence(store, chunk.first + chunk.sentences - 1));
  }
  EXPECT_GT(result.single_sentence, 0);
  EXPECT_EQ(static_cast<int64_t>(covered.size()), store.sentences() - result.single_sentence);
  EXPECT_EQ(result.documents, store.documents() - result.single_sentence);
}

TEST(DivideDocuments, RespectsOverflow) {
  const test::FakeStore store({{{5, 5, 5}, {6, 6, 6}, {7, 7, 7}, {8}}, {{9}, {9}}});
  const Chunks cut =
      chunk_documents(store, {.truncation = Truncation::kTruncate, .max_tokens = 6, .seed = 3});
  EXPECT_EQ(cut.chunks.size(), 2U);
  EXPECT_EQ(cut.truncated, 1);
  const Chunks dropped = chunk_documents(store, {.truncation = Truncation::kDrop, .max_tokens = 6});
  ASSERT_EQ(dropped.chunks.size(), 1U);
  EXPECT_EQ(dropped.chunks[0].first, 4);
  EXPECT_EQ(dropped.dropped, 1);
}

}  // namespace
}  // namespace weft::data
