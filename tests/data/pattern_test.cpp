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
  for (const PatternPart& part : split_by_pattern(pattern, text)) {
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
}

TEST(Pattern, RefusesWhatItCannotRead) {
  EXPECT_EQ(refusal("(a"), "t.Regex: '(a' at 2: '(' without ')'");
  EXPECT_EQ(refusal("a)"), "t.Regex: 'a)' at 1: ')' without '('");
  EXPECT_EQ(refusal("[a"), "t.Regex: '[a' at 2: '[' without ']'");
  for (const char* regex : {"*a", "a++", "(?<=a)b", "(a)\\1", "\\p{Greek}", "a{3,2}", "a{9999}",
                            "[z-a]", "(?>a)", "((((a{900}){900}){900}))", "\\"}) {
    EXPECT_TRUE(refusal(regex).starts_with("t.Regex: ")) << regex;
  }
}

TEST(Pattern, TerminatesOnBacktrackingPatterns) {
  EXPECT_NE(test::message_of<Error>([] {
              parts("(a|a)*(a|a)*(a|a)*(a|a)*b", std::string(200, 'a'));
            }).find("takes too long"),
            std::string::npos);
  // Every single search is short, but there is one at each position of the text.
  EXPECT_NE(test::message_of<Error>([] {
              parts("(?=(a*)(a*)(a*)(a*)b)c|a", std::string(2000, 'a'));
            }).find("takes too long"),
            std::string::npos);
  EXPECT_NE(test::message_of<Error>([] { parts("(a*)*b", "aaaaaaaa"); }).find("takes too long"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::data
