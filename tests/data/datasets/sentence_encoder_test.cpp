#include "data/datasets/sentence_encoder.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/batch.h"
#include "data/datasets/labelled_dataset.h"
#include "data/error.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

// [CLS] is 2, [SEP] is 3, the words are 5 to 10.
const std::shared_ptr<const Tokenizer> kTokenizer = std::make_shared<test::ToyTokenizer>(
    std::vector<std::string>{"A", "b.", "C", "d?", "e", "[SEP]"});

struct Encoded {
  Ids ids;
  bool is_shortened = false;
};

Encoded encode(const std::string& text, const SentenceLimits& limits = {}) {
  std::vector<int32_t> ids;
  Encoded result;
  result.is_shortened = SentenceEncoder(*kTokenizer, limits).encode(text, ids);
  const auto whole = kTokenizer->sequence(ids).ids;
  result.ids.assign(whole.begin(), whole.end());
  return result;
}

TEST(SentenceEncoder, SentencesHaveTheSpecialTokensOfTexts) {
  const auto text = encode("A b. C e d? A\nC");
  EXPECT_EQ(text.ids, (Ids{2, 5, 6, 3, 2, 7, 9, 8, 3, 2, 5, 3, 2, 7, 3}));
  EXPECT_FALSE(text.is_shortened);
  EXPECT_EQ(sentence_lengths(text.ids, SequenceTemplate(*kTokenizer, false)), (Ids{4, 5, 3, 3}));
}

TEST(SentenceEncoder, OneSentenceIsAPlainText) {
  EXPECT_EQ(encode("A b.").ids, (Ids{2, 5, 6, 3}));
  EXPECT_EQ(encode("").ids, (Ids{2, 3}));
  EXPECT_EQ(encode(" \n ").ids, (Ids{2, 3}));
}

TEST(SentenceEncoder, LimitsAreOfSentencesTheirLengthAndTheText) {
  const std::string text = "A b. C e d? A";
  const auto of = [&](const SentenceLimits& limits) {
    const auto encoded = encode(text, limits);
    EXPECT_TRUE(encoded.is_shortened);
    return encoded.ids;
  };
  EXPECT_EQ(of({.sentences = 1}), (Ids{2, 5, 6, 3}));
  EXPECT_EQ(of({.sentence_length = 4}), (Ids{2, 5, 6, 3, 2, 7, 9, 3, 2, 5, 3}));
  EXPECT_EQ(of({.length = 7}), (Ids{2, 5, 6, 3, 2, 7, 3}));
  EXPECT_EQ(of({.length = 6}), (Ids{2, 5, 6, 3})) << "two tokens are no sentence";
  EXPECT_FALSE(encode(text, {.sentences = 3, .sentence_length = 5, .length = 12}).is_shortened);
}

TEST(SentenceEncoder, GivenSentencesAreNotDivided) {
  const SentenceEncoder encoder(*kTokenizer, {});
  const auto document = encoder.encode({"A b. C", "", "e\nd?"});
  EXPECT_EQ(document.ids, (std::vector<int32_t>{2, 5, 6, 7, 3, 2, 3, 2, 9, 8, 3}));
  EXPECT_EQ(document.lengths, (Ids{5, 2, 4}));
  EXPECT_FALSE(document.is_shortened);
  EXPECT_EQ(sentences_of("A b. C e d?\nA"), (std::vector<std::string>{"A b.", "C e d?", "A"}));
}

TEST(SentenceEncoder, LimitsAreTheSameForGivenSentences) {
  const std::vector<std::string_view> sentences = {"A b.", "C e d?", "A"};
  const auto of = [&](const SentenceLimits& limits) {
    const auto document = SentenceEncoder(*kTokenizer, limits).encode(sentences);
    EXPECT_TRUE(document.is_shortened);
    EXPECT_EQ(document.ids.size(), static_cast<std::size_t>(std::accumulate(
                                       document.lengths.begin(), document.lengths.end(), 0)));
    return document.lengths;
  };
  EXPECT_EQ(of({.sentences = 1}), (Ids{4}));
  EXPECT_EQ(of({.sentence_length = 4}), (Ids{4, 4, 3}));
  EXPECT_EQ(of({.length = 7}), (Ids{4, 3}));
  EXPECT_EQ(of({.length = 6}), (Ids{4})) << "two tokens are no sentence";
  EXPECT_FALSE(SentenceEncoder(*kTokenizer, {.sentences = 3, .sentence_length = 5, .length = 12})
                   .encode(sentences)
                   .is_shortened);
}

TEST(SentenceEncoder, AWrittenSeparatorDoesNotEndASentence) {
  class Written : public test::ToyTokenizer {
   public:
    using ToyTokenizer::ToyTokenizer;
    void encode(std::string_view text, std::vector<int32_t>& ids) const override {
      ToyTokenizer::encode(text, ids);
      std::replace(ids.begin(), ids.end(), 10, 3);
    }
  };
  const Written tokenizer({"A", "b.", "C", "d?", "e", "[SEP]"});
  std::vector<int32_t> ids;
  SentenceEncoder(tokenizer, {}).encode("A [SEP] e", ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{5, 9}));
  EXPECT_EQ(SentenceEncoder(tokenizer, {}).encode({"A [SEP] e"}).lengths, Ids{4});
}

TEST(SentenceEncoder, LimitsMustLeaveSpaceForText) {
  try {
    SentenceEncoder(*kTokenizer, {.sentence_length = 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "model.document.sentence_length: 2 tokens, must be larger than the number of special "
              "tokens (2)");
  }
}

TEST(SentenceEncoder, RowsOfATableKnowTheirSentences) {
  const test::Folder folder;
  const auto item = test::data_item(folder, "rows.tsv", "text\tlabel\nA b. C e d?\tx\nA\ty\n");
  LabelledSettings settings{.length = 12, .sentences = SentenceLimits{.length = 12}};
  const auto dataset = make_labelled_dataset({item}, settings, kTokenizer);
  EXPECT_EQ(dataset->example(0, 0).sentence_lengths, (Ids{4, 5}));
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 5, 6, 3, 2, 7, 9, 8, 3}));
  EXPECT_EQ(dataset->length(0, 0), 9);
  Batch batch;
  batch.add(0, dataset->example(0, 0));
  batch.add(1, dataset->example(0, 1));
  EXPECT_EQ(batch.sentence_lengths, (Ids{4, 5, 3}));
  EXPECT_EQ(batch.sentence_counts, (Ids{2, 1}));
  EXPECT_TRUE(dataset->remarks().empty());
  settings.sentences->sentence_length = 4;
  EXPECT_EQ(make_labelled_dataset({item}, settings, kTokenizer)->remarks().front(),
            item.path + ": 1 text longer than 30 sentences of 4 tokens, 12 in all, was truncated");
  settings.truncation = Truncation::kDrop;
  EXPECT_EQ(make_labelled_dataset({item}, settings, kTokenizer)->size(0), 1);
}

TEST(SentenceEncoder, ARowHasOneText) {
  const test::Folder folder;
  const auto item = test::data_item(folder, "rows.tsv", "text\ttext_pair\tlabel\nA\tC\tx\n");
  try {
    make_labelled_dataset({item}, {.sentences = SentenceLimits{}}, kTokenizer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              item.path + ": model.document reads one text per row, found two");
  }
}

TEST(SentenceEncoder, ABatchHasSentencesInAllExamplesOrNone) {
  Batch batch;
  Example example;
  example.ids = {1, 2, 3};
  example.sentence_lengths = {2, 2};
  EXPECT_THROW(batch.add(0, example), std::invalid_argument);
  example.sentence_lengths = {2, 1};
  batch.add(0, example);
  example.sentence_lengths = {};
  EXPECT_THROW(batch.add(1, example), std::invalid_argument);
}

}  // namespace
}  // namespace weft::data
