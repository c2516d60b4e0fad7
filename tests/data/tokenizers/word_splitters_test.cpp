#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/pre_tokenizers/pattern.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {
namespace {

constexpr std::array<const char*, 3> kExpressions = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

std::string joined(const std::string& text, const std::vector<TextRange>& words) {
  std::string result;
  for (const TextRange& word : words) {
    result += "[" + text.substr(word.begin, word.end - word.begin) + "]";
  }
  return result;
}

class WordSplitters : public testing::TestWithParam<const char*> {
 protected:
  /// The words of a text by the splitter and by Oniguruma.
  void expect_equal(const std::string& text) const {
    std::vector<TextRange> words;
    split_(text, {0, text.size()}, words);
    std::vector<TextRange> matches;
    for (const PatternPart& part : pattern_.split(text)) {
      ASSERT_TRUE(part.is_match);
      matches.push_back(part.range);
    }
    ASSERT_EQ(joined(text, words), joined(text, matches));
  }

  const formats::Json json_ = {{"Regex", GetParam()}};
  const Pattern pattern_{JsonFields(json_, "t")};
  const SplitWords split_ = find_word_splitter(GetParam());
};

TEST_P(WordSplitters, EqualTheRegularExpressionOnRandomTexts) {
  ASSERT_NE(split_, nullptr);
  const std::vector<std::string> characters = {
      "a", "b", "s", "t", "r", "e",  "v",      "m",      "l",         "d",      "L",      "E",
      "S", "'", "'", " ", " ", " ",  "\t",     "\n",     "\r",        "\r\n",   "1",      "2",
      "٣", "½", ".", "-", "é", "ж",  "中",     "\u0301", "\u00A0",    "\u2003", "\u0085", "\u200B",
      "ſ", "ß", "_", "€", "😀", "\v", "\u2028", "'ll",    "abcdefghij"};
  Random random(1, RandomPurpose::kSample, 0, 0);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t left = 1 + random.uniform_int(12); left > 0; --left) {
      text += characters[random.uniform_int(characters.size())];
    }
    expect_equal(text);
  }
}

// Longer than the 64 bytes that are split at once, with runs that begin and end anywhere in them.
TEST_P(WordSplitters, EqualTheRegularExpressionOnLongRuns) {
  const std::vector<std::string> characters = {
      "a",      "S",  "7",   " ",   " ",    "\t",    "\n", "\r",   ".",
      "'",      "'s", "'LL", " 'd", "é",    "中",    "€",  "“",    "\u00A0",
      "\u2003", "½",  "٣",   "'ſ",  "word", " word", ". ", "\n  ", "  \n"};
  Random random(2, RandomPurpose::kSample, 0, 0);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    while (text.size() < 100 + random.uniform_int(200)) {
      const std::string& character = characters[random.uniform_int(characters.size())];
      for (std::size_t left = random.uniform_int(8) == 0 ? 1 + random.uniform_int(80) : 1; left > 0;
           --left) {
        text += character;
      }
    }
    expect_equal(text);
  }
}

TEST_P(WordSplitters, EqualTheRegularExpressionForEveryCharacter) {
  std::string all;
  for (char32_t code = 0; code <= 0x2FA1F; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) {
      continue;
    }
    std::string character;
    utf8::append(character, code);
    all += str_cat("a", character, character, " ", character, "1'", character);
    if (code % 64 == 63) {
      expect_equal(all);
      all.clear();
    }
  }
}

TEST_P(WordSplitters, SplitOnlyTheRange) {
  const std::string text = "one two  three";
  std::vector<TextRange> words;
  split_(text, {3, 8}, words);
  EXPECT_EQ(joined(text, words), "[ two][ ]");
}

INSTANTIATE_TEST_SUITE_P(Expressions, WordSplitters, testing::ValuesIn(kExpressions));

TEST(WordSplitter, IsOnlyForExpressionsItEquals) {
  EXPECT_EQ(find_word_splitter(R"(\p{L}+)"), nullptr);
}

}  // namespace
}  // namespace weft::data
