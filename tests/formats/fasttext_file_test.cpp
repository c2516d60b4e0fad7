#include "formats/fasttext_file.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/folder.h"

namespace weft::formats {
namespace {

const std::string kFastTextModels = std::string(WEFT_SOURCE_DIR) + "/tests/reference/fasttext/";

std::string refusal_of(const std::string& bytes) {
  const test::Folder folder;
  try {
    read_fasttext_file(folder.write("model.bin", bytes));
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.substr(message.find("model.bin: ") + 11);
  }
  return "";
}

TEST(FastTextFile, HasWordsLabelsAndMatrices) {
  const auto file = read_fasttext_file(kFastTextModels + "ngrams.bin");
  EXPECT_EQ(file.loss, FastTextLoss::kSoftmax);
  EXPECT_EQ(file.word_ngrams, 3);
  EXPECT_EQ(file.min_chars, 2);
  EXPECT_EQ(file.max_chars, 4);
  EXPECT_EQ(file.buckets, 300);
  EXPECT_FALSE(file.is_pruned);
  ASSERT_EQ(file.labels.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(file.labels, std::greater(), &FastTextLabel::count));
  const auto sport = std::ranges::find(file.labels, "sport", &FastTextLabel::name);
  ASSERT_NE(sport, file.labels.end());
  EXPECT_EQ(sport->count, 2);
  EXPECT_NE(std::ranges::find(file.words, "</s>"), file.words.end());
  EXPECT_EQ(file.input.rows, std::ssize(file.words) + 300);
  EXPECT_EQ(file.input.columns, 4);
  EXPECT_EQ(std::ssize(file.input.values), file.input.rows * 4);
  EXPECT_EQ(file.output.rows, 5);
}

TEST(FastTextFile, APrunedOneHasTheBucketOfEachRow) {
  const auto file = read_fasttext_file(kFastTextModels + "quantized.ftz");
  EXPECT_TRUE(file.is_pruned);
  EXPECT_EQ(file.input.rows, std::ssize(file.words) + std::ssize(file.bucket_rows));
  for (const auto bucket : file.bucket_rows) {
    EXPECT_GE(bucket, 0);
    EXPECT_LT(bucket, 300);
  }
}

TEST(FastTextFile, OfAnotherKindIsRefused) {
  EXPECT_EQ(refusal_of("PK\3\4 a zip file"), "not a fastText model");
  EXPECT_EQ(refusal_of(""), "damaged: ends within the magic number");
  auto bytes = read_file(kFastTextModels + "words.bin");
  bytes[4] = 13;
  EXPECT_EQ(refusal_of(bytes), "found version 13, can read only version 11 and 12");
  EXPECT_EQ(refusal_of(read_file(kFastTextModels + "skipgram.bin")),
            "holds word vectors (skip-gram), not a classifier; pretrained_embeddings reads the "
            ".vec file that fastText writes beside it");
}

TEST(FastTextFile, CutAnywhereIsRefused) {
  for (const auto* name : {"words.bin", "quantized.ftz"}) {
    const auto bytes = read_file(kFastTextModels + name);
    for (std::size_t size = 0; size < bytes.size(); size += size < 3000 ? 1 : 97) {
      EXPECT_NE(refusal_of(bytes.substr(0, size)), "") << name << " cut to " << size;
    }
    EXPECT_EQ(refusal_of(bytes + "x"), "has 1 bytes after its end");
    EXPECT_EQ(refusal_of(bytes), "");
  }
}

}  // namespace
}  // namespace weft::formats
