#include "base/utf8.h"

#include <gtest/gtest.h>

namespace weft::utf8 {
namespace {

TEST(Utf8, EncodesAndDecodesEveryCodePoint) {
  for (char32_t code = 1; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) {
      continue;
    }
    std::string bytes;
    append(bytes, code);
    std::size_t at = 0;
    ASSERT_EQ(next(bytes, at), code);
    ASSERT_EQ(at, bytes.size());
    ASSERT_FALSE(first_invalid(bytes));
  }
}

TEST(Utf8, FindsTheFirstIllFormedByte) {
  EXPECT_EQ(first_invalid("ab\xFF"), 2U);
  EXPECT_EQ(first_invalid("\xC0\xAF"), 0U);          // overlong
  EXPECT_EQ(first_invalid("x\xED\xA0\x80"), 1U);     // surrogate
  EXPECT_EQ(first_invalid("\xF4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(first_invalid("\xE2\x82"), 0U);          // cut off
  EXPECT_EQ(first_invalid("\x80"), 0U);
  EXPECT_EQ(first_invalid("\xF0\x9F\x98\x80 \xC3\xA9"), std::nullopt);
}

TEST(Utf8, ReplacesMaximalSubparts) {
  // The example of the Unicode standard, chapter 3.9, table 3-8.
  const std::string ill = "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64";
  EXPECT_EQ(decode(ill), U"a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(count(ill), 10);
  EXPECT_FALSE(first_invalid(replace_invalid(ill)));
  EXPECT_EQ(replace_invalid("ok \xC3\xA9"), "ok \xC3\xA9");
}

TEST(Utf8, RefusesToWriteWhatIsNoCodePoint) {
  EXPECT_EQ(encode(U"\x110000"), "\xEF\xBF\xBD");
  std::string surrogate;
  append(surrogate, 0xD800);
  EXPECT_EQ(surrogate, "\xEF\xBF\xBD");
}

TEST(Utf8, TheLastCodePointBeginsAtItsFirstByte) {
  EXPECT_EQ(begin_of_last("a"), 0U);
  EXPECT_EQ(begin_of_last("ab"), 1U);
  EXPECT_EQ(begin_of_last("a\u00E9"), 1U);
  EXPECT_EQ(begin_of_last("\U0001F600"), 0U);
}

// Eight bytes of ASCII are checked at once.
TEST(Utf8, FindsTheFirstInvalidByteAtEveryPosition) {
  for (std::size_t at = 0; at < 20; ++at) {
    std::string text(20, 'a');
    EXPECT_EQ(first_invalid(text), std::nullopt);
    text[at] = '\xFF';
    EXPECT_EQ(first_invalid(text), at);
    text[at] = '\xC3';
    EXPECT_EQ(first_invalid(text), at);
    if (at + 1 < text.size()) {
      text[at + 1] = '\xA9';
      EXPECT_EQ(first_invalid(text), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace weft::utf8
