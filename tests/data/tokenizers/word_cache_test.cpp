#include "data/tokenizers/models/word_cache.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/tokenizer.h"

namespace weft::data {
namespace {

WordKey key_of(const std::string& text, std::size_t begin, std::size_t size, uint32_t tokenizer) {
  WordKey key;
  key.assign(PaddedText(text).at(begin), size, tokenizer);
  return key;
}

TEST(WordCache, FindsWordsByTheirBytesLengthAndTokenizer) {
  const std::string text = "one word, and another one";
  WordCache cache;
  const std::vector<Piece> pieces = {{7, 0, 2}, {0, 2, 3}};
  const WordKey one = key_of(text, 0, 3, 1);
  cache.line(one).put(one, pieces);
  const WordKey again =
      key_of(text, text.size() - 3, 3, 1);  // the end of the text is not read past
  const WordCache::Entry* found = cache.line(again).find(again);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->count(), 2U);
  EXPECT_EQ(found->ids[0], 7);
  EXPECT_EQ(found->ids[1], 0);
  const WordKey other_tokenizer = key_of(text, 0, 3, 2);
  EXPECT_EQ(cache.line(one).find(other_tokenizer), nullptr);
  EXPECT_EQ(cache.line(one).find(key_of(text, 0, 4, 1)), nullptr);
  EXPECT_EQ(cache.line(one).find(key_of(std::string("on\0", 3), 0, 3, 1)), nullptr);
  EXPECT_EQ(cache.line(one).find(key_of("on", 0, 2, 1)), nullptr);
}

TEST(WordCache, KeepsTwoWordsOfALineAndReplacesTheOlder) {
  WordCache::Line line;
  const std::vector<WordKey> keys = {key_of("a", 0, 1, 1), key_of("b", 0, 1, 1),
                                     key_of("c", 0, 1, 1)};
  for (int32_t i = 0; i < 3; ++i) {
    line.put(keys[static_cast<std::size_t>(i)], {{i, 0, 1}});
  }
  EXPECT_EQ(line.find(keys[0]), nullptr);
  ASSERT_NE(line.find(keys[1]), nullptr);
  EXPECT_EQ(line.find(keys[1])->ids[0], 1);
  EXPECT_EQ(line.find(keys[2])->ids[0], 2);
  line.put(keys[0], std::vector<Piece>(8, {1, 0, 1}));  // too many to keep
  EXPECT_EQ(line.find(keys[0]), nullptr);
}

TEST(WordCache, AWordOfManyIdsFillsItsLine) {
  WordCache::Line line;
  const WordKey few = key_of("a", 0, 1, 1);
  const WordKey many = key_of("b", 0, 1, 1);
  for (int32_t count = 4; count <= 7; ++count) {
    line.put(few, {{0, 0, 1}});
    std::vector<Piece> pieces;
    std::array<int32_t, 7> expected;
    expected.fill(-1);
    for (int32_t i = 0; i < count; ++i) {
      pieces.push_back({1'000'000'000 * (i % 2) + i, 0, 1});
      expected[static_cast<std::size_t>(i)] = pieces.back().id;
    }
    line.put(many, pieces);
    EXPECT_EQ(line.find(few), nullptr);
    ASSERT_NE(line.find(many), nullptr);
    EXPECT_TRUE(line.find(many)->fills_line());
    EXPECT_EQ(line.many_ids(), expected);
    line.put(few, {{5, 0, 1}});
    EXPECT_EQ(line.find(many), nullptr);
    ASSERT_NE(line.find(few), nullptr);
    EXPECT_FALSE(line.find(few)->fills_line());
  }
}

TEST(WordCache, LongWordsAreNeverThere) {
  const std::string text = "seventeen letters";
  EXPECT_FALSE(key_of(text, 0, 17, 1).is_short());
  EXPECT_TRUE(key_of(text, 0, 16, 1).is_short());
  WordCache::Line line;
  line.put(key_of(text, 0, 17, 1), {{1, 0, 17}});
  EXPECT_EQ(line.find(key_of(text, 0, 17, 1)), nullptr);
}

// `tokens` does not use the cache.
TEST(WordCache, EncodingTwiceGivesTheIdsOfTheModel) {
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers/";
  std::vector<std::string> texts = {"", " ", "a",
                                    "ab cd ab cd ab cd ab cd ab cd ab cd ab cd ab cd ab"};
  for (std::size_t length = 1; length < 40; ++length) {
    texts.push_back(std::string(length, 'e') + " " + std::string(length, 'x') + "\u00E9 " +
                    std::string(length, 'e'));
  }
  const auto byte_level = load_tokenizer(folder + "roberta");
  const auto word_piece = load_tokenizer(folder + "bert_uncased");
  for (int round = 0; round < 2; ++round) {
    for (const std::string& text : texts) {
      for (const auto& tokenizer : {byte_level, word_piece}) {
        std::vector<int32_t> expected = {-5};  // encode appends
        for (const Token& token : tokenizer->tokens(text)) {
          expected.push_back(token.id);
        }
        std::vector<int32_t> ids = {-5};
        tokenizer->encode(text, ids);
        EXPECT_EQ(ids, expected) << text;
      }
    }
  }
}

}  // namespace
}  // namespace weft::data
