#include "formats/word_vectors.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::formats {
namespace {

using WordVectors = std::map<std::string, std::vector<float>>;

WordVectors vectors_of(const std::string& text) {
  const test::Folder folder;
  WordVectors result;
  read_word_vectors(folder.write("v.txt", text),
                    [&](std::string_view word, std::span<const float> vector) {
                      result.emplace(word, std::vector<float>(vector.begin(), vector.end()));
                      return true;
                    });
  return result;
}

std::string vectors_refusal(const std::string& text) {
  try {
    vectors_of(text);
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.substr(message.find("v.txt") + 5);
  }
  return "";
}

TEST(WordVectorFile, OfGloveHasNoHeader) {
  EXPECT_EQ(vectors_of("the 0.5 -1e-2 3\nof 1 2 3\n. . . 4 5 6\n"),
            (WordVectors{{"the", {0.5F, -0.01F, 3}}, {"of", {1, 2, 3}}, {". . .", {4, 5, 6}}}));
}

TEST(WordVectorFile, OfFastTextBeginsWithItsSizes) {
  EXPECT_EQ(vectors_of("2 3\n</s> 1 2 3 \r\nu\u0308ber 4 5 6 \n"),
            (WordVectors{{"</s>", {1, 2, 3}}, {"u\u0308ber", {4, 5, 6}}}));
}

TEST(WordVectorFile, EndsWhereTheVisitorStops) {
  const test::Folder folder;
  int words = 0;
  EXPECT_EQ(read_word_vectors(folder.write("v.txt", "a 1 2\nb damaged\n"),
                              [&](std::string_view, std::span<const float>) {
                                ++words;
                                return false;
                              }),
            2);
  EXPECT_EQ(words, 1);
}

TEST(WordVectorFile, DamagedIsRefusedWithItsLine) {
  EXPECT_EQ(vectors_refusal(""), ": has no word vectors");
  EXPECT_EQ(vectors_refusal("word\n"),
            ":1: not word vectors: found 'word', must be `words dimensions` or a word and its "
            "vector");
  EXPECT_EQ(vectors_refusal("a 1 2\nb 1 x\n"),
            ":2: found 'x' as value 2 of the vector, must be one of 2 finite numbers");
  EXPECT_EQ(vectors_refusal("a 1 2\nb 1 nan\n"),
            ":2: found 'nan' as value 2 of the vector, must be one of 2 finite numbers");
  EXPECT_EQ(vectors_refusal("1 3\nb 1 2\n"),
            ":2: found 'b' as value 1 of the vector, must be one of 3 finite numbers");
  EXPECT_EQ(vectors_refusal("a 1 2\n3 4\n"), ":2: has no word before the 2 values of its vector");
  EXPECT_EQ(vectors_refusal("5 70000\n").substr(0, 23), ":1: not word vectors: f");
}

}  // namespace
}  // namespace weft::formats
