#include "data/rows/table_profile.h"

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::data {
namespace {

class TableProfileTest : public ::testing::Test {
 protected:
  TableProfile profile(const std::string& name, const std::string& content, int64_t rows = 1000) {
    return profile_table(folder_.write(name, content), rows);
  }

  test::Folder folder_;
};

TEST_F(TableProfileTest, CountsTheValuesOfEachColumn) {
  const auto table =
      profile("t.csv", "text;label;age\n\"a b; c\";x;1\n d ;y;\n\"e  f\ng\";x;2.5\n");
  EXPECT_EQ(table.rows, 3);
  EXPECT_TRUE(table.is_complete);
  EXPECT_TRUE(table.options.has_header);
  EXPECT_EQ(table.remarks, (std::vector<std::string>{"fields are separated by ';'"}));
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].words, (std::vector<int64_t>{1, 3, 3}));
  EXPECT_DOUBLE_EQ(table.columns[0].mean_words(), 7.0 / 3);
  EXPECT_EQ(table.columns[1].values, (std::map<std::string, int64_t>{{"x", 2}, {"y", 1}}));
  EXPECT_FALSE(table.columns[1].is_numeric());
  EXPECT_EQ(table.columns[2].filled, 2);
  EXPECT_TRUE(table.columns[2].is_numeric());
}

TEST_F(TableProfileTest, AFirstLineWithAClassIsNotAHeader) {
  const auto table = profile("t.tsv", "ham\thello\nspam\twin\nham\tbye\nspam\tnow\n");
  EXPECT_FALSE(table.options.has_header);
  EXPECT_EQ(table.rows, 4);
  EXPECT_EQ(table.columns[0].name, "1");
  EXPECT_EQ(table.columns[0].values.at("ham"), 2);
  // The same field twice is no header either.
  EXPECT_FALSE(profile("d.csv", "5,5,a\n1,2,b\n").options.has_header);
  // A column that is called like one of its texts still has a header.
  EXPECT_TRUE(profile("h.tsv", "label\ttext\na\tone\nb\ttext\na\ttwo\n").options.has_header);
  EXPECT_TRUE(profile("j.jsonl", "{\"a\": \"a\"}\n{\"a\": \"a\"}\n").options.has_header);
}

TEST_F(TableProfileTest, ReadsNoMoreThanTheGivenRows) {
  const auto table = profile("t.tsv", "a\n1\n2\n3\n", 2);
  EXPECT_EQ(table.rows, 2);
  EXPECT_FALSE(table.is_complete);
  EXPECT_TRUE(profile("u.tsv", "a\n1\n2\n", 2).is_complete);
}

}  // namespace
}  // namespace weft::data
