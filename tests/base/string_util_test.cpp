#include "base/string_util.h"

#include <charconv>

#include <gtest/gtest.h>

#include "base/random.h"

namespace weft {
namespace {

TEST(Text, JoinsAndSplits) {
  EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"", ""}, "-"), "-");
  EXPECT_EQ(join_alternatives({"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(join_alternatives({"a", "b"}), "a or b");
  EXPECT_EQ(join_alternatives({"a"}), "a");
  EXPECT_EQ(join_alternatives({}), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split("a,", ','), (std::vector<std::string_view>{"a", ""}));
}

TEST(Text, SplitsFieldsBetweenBlanks) {
  std::vector<std::string_view> fields = {"old"};
  split_fields(" a\t b c \t", fields);
  EXPECT_EQ(fields, (std::vector<std::string_view>{"a", "b", "c"}));
  split_fields(" \t", fields);
  EXPECT_TRUE(fields.empty());
}

TEST(Text, TrimsBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, WritesNumbersForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(-123456), "-123,456");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12.3 * 1024 * 1024), "12.3 MiB");
  EXPECT_EQ(format_duration(3.2), "3 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(3720), "1 h 02 min");
}

TEST(Text, ShortestReadsBackAsTheSameNumber) {
  EXPECT_EQ(shortest_repr(0.1), "0.1");
  EXPECT_EQ(shortest_repr(1e-5), "1e-05");
  Random random(1, RandomPurpose::kSample, 0, 0);
  for (int i = 0; i < 1000; ++i) {
    const double value = (random.uniform_double() - 0.5) * 1e9;
    const std::string word = shortest_repr(value);
    double again = 0;
    std::from_chars(word.data(), word.data() + word.size(), again);
    EXPECT_EQ(again, value);
  }
}

TEST(Nearest, SuggestsTheIntendedWord) {
  const std::vector<std::string> words = {"activation", "width", "gated", "dropout"};
  EXPECT_EQ(did_you_mean("activaton", words), "activation");
  EXPECT_EQ(did_you_mean("widht", words), "width");      // neighbours swapped
  EXPECT_EQ(did_you_mean("DROPOUT", words), "dropout");  // letter case
  EXPECT_EQ(did_you_mean("gatedd", words), "gated");
  EXPECT_EQ(did_you_mean("zzz", words), "");
  EXPECT_EQ(did_you_mean("warm_up", {"type", "warmup"}), "warmup");
  EXPECT_EQ(did_you_mean("warmup_steps", {"type", "warmup"}),
            "warmup");  // contains the word
  EXPECT_EQ(did_you_mean("bset", {"last", "best"}), "best");
}

TEST(Nearest, SuggestsNothingForAWordOfOneLetter) {
  EXPECT_EQ(did_you_mean("x", {"a", "b"}), "");
  EXPECT_EQ(did_you_mean("", {"a", "lr"}), "");
}

TEST(Columns, AreSeparatedByTwoSpaces) {
  EXPECT_EQ(format_columns({{"task", "items"}, {"a", "12345"}, {"longer", "-"}}),
            "task    items\n"
            "a       12345\n"
            "longer      -\n");
  EXPECT_EQ(format_columns({}), "");
}

TEST(Columns, RowsMayBeShort) { EXPECT_EQ(format_columns({{"a", "b"}, {"cd"}}), "a   b\ncd\n"); }

TEST(FormatPercent, SmallSharesHaveMoreDecimals) {
  EXPECT_EQ(format_percent(1, 8), "12.50 %");
  EXPECT_EQ(format_percent(1, 2000), "0.0500 %");
  EXPECT_EQ(format_percent(0, 0), "0.00 %");
}

}  // namespace
}  // namespace weft
