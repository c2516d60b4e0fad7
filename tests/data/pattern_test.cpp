#include "data/tokenizers/pre_tokenizers/pattern.h"

#include <gtest/gtest.h>

#include "data/error.h"
#include "support/config.h"

namespace weft::data {
namespace {

/// The parts of a text at and between matches; matches in brackets.
std::string parts(const std::string& regex, const std::string& text) {
  const formats::Json json = {{"Regex", regex}};
  const Pattern pattern(JsonFields(json, "t"));
  std::string result;
  for (const PatternPart& part : pattern.split(text)) {
    const std::string piece = text.substr(part.range.begin, part.range.end - part.range.begin);
    result += part.is_match ? "[" + piece + "]" : piece;
  }
  return result;
}

std::string refusal(const std::string& regex) {
  return test::message_of<Error>([&] { parts(regex, ""); });
}

TEST(Pattern, FindsWhatRegularExpressionsMean) {
  EXPECT_EQ(parts(" {2,}", "a  b c   "), "a[  ]b c[   ]");
  EXPECT_EQ(parts("a|bc", "abcb"), "[a][bc]b");
  EXPECT_EQ(parts("a|ab|abc", "abc"), "[a]bc");
  EXPECT_EQ(parts("(?:ab)+?c", "ababc"), "[ababc]");
  EXPECT_EQ(parts("x{2}", "xxxxx"), "[xx][xx]x");
  EXPECT_EQ(parts("x{1,2}", "xxxxx"), "[xx][xx][x]");
  EXPECT_EQ(parts("a.c", "abc a\nc"), "[abc] a\nc");
  EXPECT_EQ(parts("^a|a$", "aaa"), "[a]a[a]");
  EXPECT_EQ(parts("[^a-c\\]]+", "abd]ec"), "ab[d]][e]c");
  EXPECT_EQ(parts("\\p{L}+|\\p{N}{1,3}", "é1234ж"), "[é][123][4][ж]");
  EXPECT_EQ(parts("\\p{Lu}", "aBÉ"), "a[B][É]");
  EXPECT_EQ(parts("\\s+(?!\\S)|\\s+", "a   b "), "a[  ][ ]b[ ]");
  EXPECT_EQ(parts("(?i:'S|k)", "'s K \u212A"), "['s] [K] [\u212A]");
  EXPECT_EQ(parts("\\u00e9|\\x41", "éA"), "[é][A]");
  EXPECT_EQ(parts("b*", "abba"), "a[bb]a");
  EXPECT_EQ(parts("(?<=a)b|(c)\\1|d++d", "abbccdd"), "a[b]b[cc]dd");
  EXPECT_EQ(parts("^a|a$", "a\na"), "[a]\n[a]");
}

TEST(Pattern, ClassesOfLettersAndNumbersAreThoseOfTheTable) {
  // U+323AF (Unicode 15) is a letter, U+11F50 (Unicode 15) a number, whatever Oniguruma's version.
  EXPECT_EQ(parts("\\p{L}+", "a\U000323AF\U00011F50"), "[a\U000323AF]\U00011F50");
  EXPECT_EQ(parts("\\p{N}+", "1\U00011F50a"), "[1\U00011F50]a");
  EXPECT_EQ(parts("[^\\p{L}\\p{N}]+", "a- \U000323AF"), "a[- ]\U000323AF");
}

TEST(Pattern, RefusesWhatItCannotRead) {
  EXPECT_EQ(refusal("(a"), "t.Regex: '(a': end pattern with unmatched parenthesis");
  EXPECT_EQ(refusal("a)"), "t.Regex: 'a)': unmatched close parenthesis");
  EXPECT_EQ(refusal("[a"), "t.Regex: '[a': premature end of char-class");
  for (const std::string& regex :
       {std::string("*a"), std::string("\\p{Foo}"), std::string("a{999999}"), std::string("[z-a]"),
        std::string("(?{code})"), std::string("(?<a>|\\g<a>a)"), std::string("\\"),
        std::string("\xC3"), std::string(60, '(') + std::string(60, ')'),
        std::string(60, '[') + std::string(60, ']'), std::string(30'000, 'a')}) {
    EXPECT_TRUE(refusal(regex).starts_with("t.Regex: ")) << regex;
  }
}

TEST(Pattern, RefusesInvalidText) {
  EXPECT_NE(test::message_of<Error>([] { parts("a|.", "aa\xC3"); }).find("not valid UTF-8"),
            std::string::npos);
}

TEST(Pattern, TerminatesOnBacktrackingPatterns) {
  for (const char* regex : {"(?:a|a)*(?:a|a)*(?:a|a)*(?:a|a)*(?<!a)\\s",
                            // Every single search is short, but there is one at each position.
                            "(?=(a*)(a*)(a*)(a*)(?<!a)\\s)c|a"}) {
    EXPECT_NE(test::message_of<Error>([&] {
                parts(regex, std::string(2000, 'a') + " ");
              }).find("takes too long"),
              std::string::npos)
        << regex;
  }
  EXPECT_NE(test::message_of<Error>([] {
              parts("(?:(((((((((((((a)))))))))))))|x)*b", std::string(200'000, 'a') + "b");
            }).find("match-stack limit"),
            std::string::npos);
  EXPECT_EQ(parts("(a*)*(?<!a)\\s", "aaaaaaaa "), "aaaaaaaa ");
}

}  // namespace
}  // namespace weft::data
