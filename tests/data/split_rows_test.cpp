#include "data/split_rows.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "data/error.h"
#include "formats/error.h"
#include "support/config.h"
#include "support/data_item.h"
#include "support/folder.h"

namespace weft::data {
namespace {

class SplitRowsTest : public ::testing::Test {
 protected:
  DataItem item(const std::string& name, const std::string& content) const {
    return test::data_item(folder_, name, content);
  }

  static std::vector<std::string> labels(const SplitRows& rows) {
    std::vector<std::string> found;
    for (const auto& row : rows.rows) {
      found.push_back(row.is_dropped ? "dropped" : row.label);
    }
    return found;
  }

  test::Folder folder_;
};

using Names = std::vector<std::string>;

TEST_F(SplitRowsTest, TextsOfTheSameWordsAreDuplicates) {
  const auto rows =
      labelled_split_rows(item("x.tsv", "label\ttext\nno\ta b\nyes\t A  b! \nno\ta c\n"), {});
  EXPECT_EQ(labels(rows), (Names{"no", "yes", "no"}));
  EXPECT_EQ(rows.rows[0].content, rows.rows[1].content);
  EXPECT_NE(rows.rows[0].content, rows.rows[2].content);
}

TEST_F(SplitRowsTest, BothTextsOfAPairCount) {
  const auto rows = labelled_split_rows(
      item("x.tsv", "label\ttext\ttext_pair\n0\ta\tb\n1\ta\tb\n0\tb\ta\n0\ta\tc\n"), {});
  EXPECT_EQ(rows.rows[0].content, rows.rows[1].content);
  EXPECT_NE(rows.rows[0].content, rows.rows[2].content);
  EXPECT_NE(rows.rows[0].content, rows.rows[3].content);
}

TEST_F(SplitRowsTest, NumbersAreNoClassesAndUnlabelledRowsAreDropped) {
  EXPECT_EQ(labels(labelled_split_rows(item("x.tsv", "label\ttext\n0.5\ta\n1\tb\n"),
                                       {.is_regression = true})),
            (Names{"", ""}));
  EXPECT_EQ(labels(labelled_split_rows(item("y.tsv", "label\ttext\n\ta\nx\tb\n"),
                                       {.unlabelled = Unlabelled::kDrop})),
            (Names{"dropped", "x"}));
  EXPECT_EQ(labels(labelled_split_rows(item("z.tsv", "label\ttext\n\ta\nd;c\tb\n"),
                                       {.is_multi_label = true, .separator = ";"})),
            (Names{"", "c"}));
}

TEST_F(SplitRowsTest, SentencesCountPerFile) {
  auto both = item("a.conll", "a O\nb O\n\nc O\n");
  both.files.push_back(folder_.write("b.conll", "\na N\nb N\n"));
  const auto rows = tagged_split_rows(both);
  ASSERT_EQ(rows.rows.size(), 3U);
  ASSERT_EQ(rows.files.size(), 2U);
  EXPECT_EQ(rows.files[1].begin, 2);
  EXPECT_EQ(rows.rows[0].content, rows.rows[2].content);  // the tags do not matter
  EXPECT_NE(rows.rows[0].content, rows.rows[1].content);
}

TEST_F(SplitRowsTest, ImagesAreDuplicatesByTheirBytes) {
  const auto csv = item("p.csv", "1,2,3,4,7\n1,2,3,4,8\n1,2,3,5,7\n");
  const auto rows = image_split_rows(csv, true);
  EXPECT_EQ(labels(rows), (Names{"7", "8", "7"}));
  EXPECT_EQ(rows.rows[0].content, rows.rows[1].content);
  EXPECT_NE(rows.rows[0].content, rows.rows[2].content);

  std::filesystem::create_directories(folder_.path("images/cat"));
  std::filesystem::create_directories(folder_.path("images/dog"));
  folder_.write("images/cat/1.pgm", "P5 1 1 255\nx");
  folder_.write("images/cat/2.pgm", "P5 1 1 255\ny");
  folder_.write("images/dog/3.pgm", "P5 1 1 255\nx");
  DataItem folder;
  folder.path = folder_.path("images");
  folder.files = {folder.path};
  const auto files = image_split_rows(folder, true);
  EXPECT_EQ(labels(files), (Names{"cat", "cat", "dog"}));
  EXPECT_EQ(files.rows[0].content, files.rows[2].content);
  EXPECT_NE(files.rows[0].content, files.rows[1].content);
  EXPECT_EQ(labels(image_split_rows(folder, false)), (Names{"", "", ""}));
}

TEST_F(SplitRowsTest, ReadsTheGroupsOfTables) {
  const auto table = item("x.tsv", "label\ttext\tid\nno\ta\t p1\nno\tb\tp2\nyes\tc\tp1\n");
  auto rows = labelled_split_rows(table, {});
  read_groups(table, "id", rows);
  EXPECT_EQ(rows.rows[0].group, rows.rows[2].group);
  EXPECT_NE(rows.rows[0].group, rows.rows[1].group);
  EXPECT_NE(rows.rows[0].group, 0U);
  EXPECT_THROW(read_groups(table, "idd", rows), formats::Error);

  const auto gap = item("y.tsv", "label\ttext\tid\nno\ta\tp1\nno\tb\t\n");
  EXPECT_EQ(test::message_of<Error>([&] { read_groups(gap, "id", rows); }),
            gap.path + ":3: no 'id', every row must have a group (data.split.group)");
  const auto plain = item("x.conll", "a O\n");
  EXPECT_EQ(test::message_of<Error>([&] { read_groups(plain, "id", rows); }),
            plain.path + ": no named columns, data.split.group needs a csv, tsv or jsonl file");
}

}  // namespace
}  // namespace weft::data
