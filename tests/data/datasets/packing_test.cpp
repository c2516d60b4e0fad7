#include "data/datasets/packing.h"

#include <gtest/gtest.h>

#include "data/fake_store.h"

namespace weft::data {
namespace {

using Ranges = std::vector<std::vector<int64_t>>;

// Two documents; sentences of 3, 2, 4 and of 5, 1, 9 tokens, which begin at 0, 3, 5 and 9, 14, 15;
// in all 24.
const test::FakeStore& store() {
  const auto sentence = [](std::size_t length) { return std::vector<int64_t>(length, 5); };
  static const test::FakeStore result(
      {{sentence(3), sentence(2), sentence(4)}, {sentence(5), sentence(1), sentence(9)}});
  return result;
}

Ranges packed(Pack pack,
              Truncation truncation,
              int64_t max_tokens,
              bool inserts_separator = false) {
  Ranges ranges;
  const PackedSequences result = pack_sequences(store(), {.pack = pack,
                                                          .truncation = truncation,
                                                          .max_tokens = max_tokens,
                                                          .inserts_separator = inserts_separator});
  for (const PackedRange& range : result.ranges) {
    ranges.push_back({range.begin, range.tokens, range.length});
  }
  ranges.push_back({result.truncated, result.dropped});
  return ranges;
}

TEST(PackSequences, NoneMakesASequenceOfEachSentence) {
  EXPECT_EQ(packed(Pack::kNone, Truncation::kSplit, 4), (Ranges{{0, 3, 3},
                                                                {3, 2, 2},
                                                                {5, 4, 4},
                                                                {9, 4, 4},
                                                                {13, 1, 1},
                                                                {14, 1, 1},
                                                                {15, 4, 4},
                                                                {19, 4, 4},
                                                                {23, 1, 1},
                                                                {0, 0}}));
  EXPECT_EQ(packed(Pack::kNone, Truncation::kTruncate, 4),
            (Ranges{{0, 3, 3}, {3, 2, 2}, {5, 4, 4}, {9, 4, 4}, {14, 1, 1}, {15, 4, 4}, {2, 0}}));
  EXPECT_EQ(packed(Pack::kNone, Truncation::kDrop, 4),
            (Ranges{{0, 3, 3}, {3, 2, 2}, {5, 4, 4}, {14, 1, 1}, {0, 2}}));
}

TEST(PackSequences, DocumentFillsWithWholeSentences) {
  EXPECT_EQ(packed(Pack::kDocument, Truncation::kSplit, 6),
            (Ranges{{0, 5, 5}, {5, 4, 4}, {9, 6, 6}, {15, 6, 6}, {21, 3, 3}, {0, 0}}));
  EXPECT_EQ(packed(Pack::kDocument, Truncation::kTruncate, 10),
            (Ranges{{0, 9, 9}, {9, 10, 10}, {1, 0}}));
  EXPECT_EQ(packed(Pack::kDocument, Truncation::kDrop, 10), (Ranges{{0, 9, 9}, {0, 1}}));
}

TEST(PackSequences, StreamContinuesAcrossDocuments) {
  EXPECT_EQ(packed(Pack::kStream, Truncation::kSplit, 10),
            (Ranges{{0, 9, 9}, {9, 6, 6}, {15, 9, 9}, {0, 0}}));
  EXPECT_EQ(packed(Pack::kStream, Truncation::kSplit, 14),
            (Ranges{{0, 14, 14}, {14, 10, 10}, {0, 0}}));
  EXPECT_EQ(packed(Pack::kStream, Truncation::kSplit, 24), (Ranges{{0, 24, 24}, {0, 0}}));
}

TEST(PackSequences, StreamCountsSeparators) {
  EXPECT_EQ(packed(Pack::kStream, Truncation::kSplit, 14, true),
            (Ranges{{0, 9, 9}, {9, 6, 6}, {15, 9, 9}, {0, 0}}));
  EXPECT_EQ(packed(Pack::kStream, Truncation::kSplit, 15, true),
            (Ranges{{0, 14, 15}, {14, 10, 10}, {0, 0}}));
}

TEST(PackSequences, StreamContinuesAfterASplitSentence) {
  const test::FakeStore split({{std::vector<int64_t>(7, 5)}, {std::vector<int64_t>(2, 5)}});
  const PackedSequences result = pack_sequences(
      split, {.pack = Pack::kStream, .truncation = Truncation::kSplit, .max_tokens = 4});
  ASSERT_EQ(result.ranges.size(), 3U);  // 4; 3 and no room for 2 more; 2
  const PackedSequences other = pack_sequences(
      split, {.pack = Pack::kStream, .truncation = Truncation::kSplit, .max_tokens = 5});
  ASSERT_EQ(other.ranges.size(), 2U);  // 5; 2 + 2
  EXPECT_EQ(other.ranges[1].tokens, 4U);
}

TEST(PackSequences, KeepsEveryTokenOnceInOrder) {
  const test::FakeStore large(test::counted_documents(20000, 6, 30));  // more than a block
  for (const Pack pack : {Pack::kNone, Pack::kDocument, Pack::kStream}) {
    int64_t next = 0;
    const PackedSequences result = pack_sequences(large, {.pack = pack,
                                                          .truncation = Truncation::kSplit,
                                                          .max_tokens = 20,
                                                          .inserts_separator = true});
    for (const PackedRange& range : result.ranges) {
      ASSERT_EQ(range.begin, next);
      ASSERT_GT(range.tokens, 0U);
      ASSERT_LE(range.length, 20U);
      next += range.tokens;
    }
    EXPECT_EQ(next, large.tokens());
  }
}

TEST(DocumentOf, FindsTheDocument) {
  const test::FakeStore large(test::counted_documents(50, 6, 9));
  for (int64_t document = 0; document < large.documents(); ++document) {
    const int64_t first = large.first_sentence(document);
    const int64_t last = large.first_sentence(document + 1);
    for (int64_t sentence = first; sentence < last; ++sentence) {
      EXPECT_EQ(document_of_sentence(large, sentence), document);
      EXPECT_EQ(document_of_token(large, large.first_token(sentence)), document);
      EXPECT_EQ(document_of_token(large, large.first_token(sentence + 1) - 1), document);
    }
  }
}

}  // namespace
}  // namespace weft::data
