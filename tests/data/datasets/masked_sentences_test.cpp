#include "data/datasets/masked_sentences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "data/error.h"
#include "data/fake_store.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

constexpr int64_t kSentenceBegin = 2;  // [CLS]
constexpr int64_t kSentenceEnd = 3;    // [SEP]
constexpr int64_t kMaskToken = 4;

struct SentenceSetting {
  SentenceLimits limits = {.sentences = 6, .sentence_length = 10, .length = 40};
  MaskedSentenceOptions options = {};
  Truncation truncation = Truncation::kSplit;
  bool has_token_type_ids = true;
};

MaskedSentenceDataset masked(const std::vector<LanguageSource>& sources,
                             const SentenceSetting& setting = {}) {
  const test::ToyTokenizer tokenizer(std::vector<std::string>{}, 1000000);
  return {sources,
          setting.truncation,
          {.length = setting.limits.length,
           .has_token_type_ids = setting.has_token_type_ids,
           .seed = 3},
          setting.limits,
          setting.options,
          tokenizer};
}

/// A sentence of an example, with what is predicted of it.
struct SeenSentence {
  Ids ids;      // without special tokens
  Ids targets;  // without the last special token; empty: it is not selected
};

std::vector<SeenSentence> sentences_in(const Example& example) {
  std::vector<SeenSentence> seen;
  int64_t begin = 0;
  std::size_t target = 0;
  for (const auto length : example.sentence_lengths) {
    const auto first = example.ids.begin() + begin;
    EXPECT_EQ(*first, kSentenceBegin);
    EXPECT_EQ(first[length - 1], kSentenceEnd);
    SeenSentence one{.ids = {first + 1, first + length - 1}, .targets = {}};
    begin += length;
    for (; target < example.targets.size() && example.target_positions[target] == begin - 1;
         ++target) {
      one.targets.push_back(example.targets[target]);
    }
    if (!one.targets.empty()) {
      EXPECT_EQ(one.targets.back(), kSentenceEnd);
      one.targets.pop_back();
    }
    seen.push_back(one);
  }
  EXPECT_EQ(begin, std::ssize(example.ids));
  EXPECT_EQ(target, example.targets.size());
  return seen;
}

bool is_hidden(const Ids& ids) {
  return std::ranges::all_of(ids, [](int64_t id) { return id == kMaskToken; });
}

bool is_counting(const Ids& ids) {
  return std::ranges::adjacent_find(ids, [](int64_t a, int64_t b) { return b != a + 1; }) ==
         ids.end();
}

TEST(MaskedSentenceDataset, SentencesAreReplacedAsPublished) {
  const auto dataset = masked({test::source(test::counted_documents(60, 14, 13))});
  double selected = 0;
  double hidden = 0;
  double random = 0;
  double expected = 0;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    for (int64_t item = 0; item < dataset.size(epoch); ++item) {
      const auto example = dataset.example(epoch, item);
      ASSERT_EQ(dataset.length(epoch, item), std::ssize(example.ids));
      ASSERT_EQ(example.token_type_ids, Ids(example.ids.size(), 0));
      ASSERT_LE(example.ids.size(), 40U);
      const auto seen = sentences_in(example);
      ASSERT_GE(seen.size(), 2U);
      ASSERT_LE(seen.size(), 6U);
      int64_t count = 0;
      for (const auto& [ids, targets] : seen) {
        ASSERT_LE(ids.size(), 8U);  // and two special tokens
        ASSERT_TRUE(targets.empty() ? is_counting(ids) : is_counting(targets));
        if (targets.empty()) {
          continue;
        }
        ++count;
        hidden += is_hidden(ids) ? 1 : 0;
        random += !is_hidden(ids) && ids != targets ? 1 : 0;
        if (is_hidden(ids)) {
          ASSERT_EQ(ids.size(), targets.size());
        }
      }
      const auto wanted =
          std::max<int64_t>(1, std::llround(0.15 * static_cast<double>(seen.size())));
      ASSERT_EQ(count, wanted);
      selected += static_cast<double>(count);
      expected += 1;
    }
  }
  const auto near_share = [&](double found, double share) {
    return std::abs(found / selected - share) < 4 * std::sqrt(share * (1 - share) / selected);
  };
  EXPECT_GT(expected, 2000);
  EXPECT_TRUE(near_share(hidden, 0.8)) << hidden / selected;
  EXPECT_TRUE(near_share(random, 0.1)) << random / selected;
}

TEST(MaskedSentenceDataset, AnEpochHasEverySentenceOnce) {
  const auto documents = test::counted_documents(30, 15, 8);
  const auto dataset = masked({test::source(documents)});
  int64_t known = 0;
  for (const auto& document : documents) {
    known += document.size() > 1 ? std::ssize(document) : 0;
  }
  int64_t seen = 0;
  int64_t last = 0;  // ids count up over all documents
  for (int64_t item = 0; item < dataset.size(0); ++item) {
    for (const auto& [ids, targets] : sentences_in(dataset.example(0, item))) {
      const auto& own = targets.empty() ? ids : targets;
      ASSERT_GT(own.front(), last);
      last = own.back();
      ++seen;
    }
  }
  EXPECT_EQ(seen, known);
}

/// A document of this many sentences of two tokens.
test::FakeStore::Documents document_of(int64_t sentences) {
  test::FakeStore::Documents documents(1);
  for (int64_t i = 0; i < sentences; ++i) {
    documents.front().push_back({10 + 2 * i, 11 + 2 * i});
  }
  return documents;
}

std::vector<std::size_t> run_sizes(const MaskedSentenceDataset& dataset) {
  std::vector<std::size_t> sizes;
  for (int64_t item = 0; item < dataset.size(0); ++item) {
    sizes.push_back(dataset.example(0, item).sentence_lengths.size());
  }
  return sizes;
}

TEST(MaskedSentenceDataset, ALongerDocumentIsDividedWithoutALoneSentence) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(run_sizes(masked({test::source(document_of(6))})), (Sizes{6}));
  EXPECT_EQ(run_sizes(masked({test::source(document_of(7))})), (Sizes{5, 2}));
  EXPECT_EQ(run_sizes(masked({test::source(document_of(13))})), (Sizes{6, 5, 2}));
  const SentenceSetting few{.limits = {.sentences = 30, .sentence_length = 10, .length = 13}};
  EXPECT_EQ(run_sizes(masked({test::source(document_of(7))}, few)), (Sizes{3, 2, 2}))
      << "a sentence has four tokens with special ones";
  const SentenceSetting two{.limits = {.sentences = 2, .sentence_length = 10, .length = 40}};
  const auto dataset = masked({test::source(document_of(3))}, two);
  EXPECT_EQ(run_sizes(dataset), (Sizes{2}));
  EXPECT_EQ(dataset.remarks(),
            std::vector<std::string>{"fake.txt: 1 sentence that the limits leave alone at the "
                                     "end of a document was skipped"});
}

TEST(MaskedSentenceDataset, LongDocumentsCanBeTruncatedOrDropped) {
  auto documents = document_of(7);
  documents.push_back(document_of(3).front());
  documents.push_back(document_of(1).front());
  const auto truncated = masked({test::source(documents)}, {.truncation = Truncation::kTruncate});
  EXPECT_EQ(run_sizes(truncated), (std::vector<std::size_t>{5, 3}));
  EXPECT_EQ(truncated.remarks(),
            (std::vector<std::string>{
                "fake.txt: 1 document with a single sentence was skipped: nothing would be left to "
                "predict it from",
                "fake.txt: 1 document of more than 6 sentences or 40 tokens was truncated"}));
  const auto dropped = masked({test::source(documents)}, {.truncation = Truncation::kDrop});
  EXPECT_EQ(run_sizes(dropped), (std::vector<std::size_t>{3}));
  EXPECT_EQ(dropped.location(0, 0), "fake.txt, document 2, sentence 1");
}

TEST(MaskedSentenceDataset, NeverAllSentencesAreMasked) {
  const auto dataset =
      masked({test::source(document_of(2))}, {.options = {.fraction = 1, .mask_sentence_prob = 1}});
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const auto seen = sentences_in(dataset.example(epoch, 0));
    EXPECT_EQ(std::ranges::count_if(seen, [](const auto& one) { return one.targets.empty(); }), 1);
  }
}

TEST(MaskedSentenceDataset, RandomSentencesComeFromOtherTexts) {
  const MaskedSentenceOptions options{
      .fraction = 0.5, .mask_sentence_prob = 0, .random_sentence_prob = 1};
  auto first = test::counted_documents(3, 6, 9);
  const auto dataset = masked({test::source(first, 1, "a.txt"), test::source(first, 1, "b.txt")},
                              {.options = options});
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (int64_t item = 0; item < dataset.size(epoch); ++item) {
      const auto example = dataset.example(epoch, item);
      ASSERT_EQ(dataset.length(epoch, item), std::ssize(example.ids));
      ASSERT_LE(example.ids.size(), 40U);
      for (const auto& [ids, targets] : sentences_in(example)) {
        ASSERT_TRUE(is_counting(ids));
      }
    }
  }
  const auto alone = masked({test::source(document_of(4))}, {.options = options});
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (const auto& [ids, targets] : sentences_in(alone.example(epoch, 0))) {
      EXPECT_NE(ids, targets) << "another sentence where there is no other text";
    }
  }
}

TEST(MaskedSentenceDataset, MasksDifferBetweenEpochsAndAreReproducible) {
  const auto documents = test::counted_documents(20, 8, 8);
  const auto one = masked({test::source(documents)});
  const auto other = masked({test::source(documents)});
  EXPECT_EQ(one.fingerprint(), other.fingerprint());
  int64_t changed = 0;
  for (int64_t item = 0; item < one.size(0); ++item) {
    const auto example = one.example(1, item);
    EXPECT_EQ(other.example(1, item).ids, example.ids);
    EXPECT_EQ(other.example(1, item).targets, example.targets);
    changed += one.example(2, item).targets != example.targets ? 1 : 0;
  }
  EXPECT_GT(changed, one.size(0) / 2);
  EXPECT_NE(masked({test::source(documents)}, {.options = {.fraction = 0.2}}).fingerprint(),
            one.fingerprint());
  EXPECT_NE(masked({test::source(documents)},
                   {.limits = {.sentences = 5, .sentence_length = 10, .length = 40}})
                .fingerprint(),
            one.fingerprint());
}

TEST(MaskedSentenceDataset, LimitsMustLeaveSpaceForTwoSentences) {
  const auto message = [](const SentenceLimits& limits) {
    try {
      masked({test::source(document_of(4))}, {.limits = limits});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({.sentences = 4, .sentence_length = 8, .length = 6}), "");
  EXPECT_NE(message({.sentences = 4, .sentence_length = 8, .length = 5}).find("data.length: 5"),
            std::string::npos);
  EXPECT_NE(message({.sentences = 1, .sentence_length = 8, .length = 40})
                .find("model.document.sentences: 1, must be at least 2"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::data
