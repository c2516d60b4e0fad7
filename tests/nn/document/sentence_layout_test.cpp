#include <vector>

#include <gtest/gtest.h>

#include "nn/document/document_encoder.h"
#include "support/context.h"

namespace weft::nn {
namespace {

using Numbers = std::vector<int64_t>;

/// Two documents, of 3 + 2 and of 4 tokens, after one of 5 + 1 + 2 tokens of the same step.
ForwardContext nested_context() {
  auto context = test::context_of({0, 5, 9});
  context.sentences = {.lengths = {3, 2, 4}, .counts = {2, 1}};
  context.first_row = 8;
  context.first_sequence = 1;
  context.earlier_lengths = Numbers{8};
  context.earlier_sentences = {.lengths = {5, 1, 2}, .counts = {3}};
  return context;
}

TEST(SentenceLayout, TokensBelongToSentences) {
  const auto context = sentence_context(nested_context());
  EXPECT_EQ(context.layout.offsets, (Numbers{0, 3, 5, 9}));
  EXPECT_EQ(context.first_row, 8);
  EXPECT_EQ(context.first_sequence, 3);
  EXPECT_EQ(context.earlier_lengths, (Numbers{5, 1, 2}));
}

TEST(SentenceLayout, SentencesBelongToDocuments) {
  const auto context = document_context(nested_context());
  EXPECT_EQ(context.layout.offsets, (Numbers{0, 2, 3}));
  EXPECT_EQ(context.first_row, 3);
  EXPECT_EQ(context.first_sequence, 1);
  EXPECT_EQ(context.earlier_lengths, (Numbers{3}));
}

TEST(SentenceLayout, ATextThatIsNotDividedIsOneSentence) {
  auto context = nested_context();
  context.sentences = {};
  context.first_sequence = 2;
  EXPECT_EQ(sentence_context(context).layout.offsets, context.layout.offsets);
  const auto documents = document_context(context);
  EXPECT_EQ(documents.layout.offsets, (Numbers{0, 1, 2}));
  EXPECT_EQ(documents.first_row, 2);
  EXPECT_EQ(documents.earlier_lengths, (Numbers{1, 1}));
}

TEST(SentenceLayout, SentencesMustBeAllTokensOfTheirDocuments) {
  for (const auto& sentences : std::vector<Sentences>{{.lengths = {3, 2, 4}, .counts = {2}},
                                                      {.lengths = {3, 3, 3}, .counts = {2, 1}},
                                                      {.lengths = {3, 2}, .counts = {2, 1}},
                                                      {.lengths = {3, 2, 4, 1}, .counts = {2, 1}},
                                                      {.lengths = {5, 4}, .counts = {2, 0}}}) {
    auto context = nested_context();
    context.sentences = sentences;
    EXPECT_THROW(sentence_context(context), c10::Error);
  }
}

}  // namespace
}  // namespace weft::nn
