#include "data/text/text_counts.h"

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::data {
namespace {

TEST(TextCounts, CountWordsCharactersAndBytes) {
  TextCounts counts;
  counts.add(" two wörds\n\n");
  EXPECT_EQ(counts.words, 2);
  EXPECT_EQ(counts.characters, 12);
  EXPECT_EQ(counts.bytes, 13);
  counts.add("one");
  EXPECT_EQ(counts.words, 3);
}

TEST(TextCounts, SeeWholeDocuments) {
  const test::Folder folder;
  DataItem item;
  item.files = {folder.write("a.txt", "a b\nc\n\nd\n")};
  DataOptions options;
  options.sentence = SentenceBoundary::kNone;
  const auto counts = count_texts(item, options);
  EXPECT_EQ(counts.words, 4);
  EXPECT_EQ(counts.bytes, 6);  // `a b\nc` and `d`
  EXPECT_EQ(text_counts(values_of(counts)).words, 4);
}

}  // namespace
}  // namespace weft::data
