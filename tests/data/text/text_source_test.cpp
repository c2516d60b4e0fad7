#include "data/text/text_source.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/datasets/language_dataset.h"
#include "data/error.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using TextSourceLines = std::vector<std::string>;

class TextReaderTest : public ::testing::Test {
 protected:
  /// Lines of the files, those that begin a document marked by a bar.
  TextSourceLines read(const std::vector<std::string>& files) {
    DataItem item = item_;
    item.files = files;
    TextReader reader(item, options_);
    TextSourceLines lines;
    for (TextLine line; reader.next(line);) {
      lines.push_back((line.begins_document ? "|" : "") + std::string(line.text));
    }
    line_splits_ = reader.line_splits();
    EXPECT_EQ(reader.fraction_read(), 1.0);
    return lines;
  }
  TextSourceLines visited(const std::vector<std::string>& files) {
    DataItem item = item_;
    item.files = files;
    TextSourceLines texts;
    visit_texts({item}, options_, [&](std::string_view text) { texts.emplace_back(text); });
    return texts;
  }

  test::Folder folder_;
  DataItem item_;
  DataOptions options_;
  int64_t line_splits_ = 0;
};

TEST_F(TextReaderTest, EmptyLinesAndFilesAreBoundaries) {
  const auto a = folder_.write("a.txt", "\n \none\n two\t\r\n \t\n\nthree");
  const auto b = folder_.write("b.txt", "four\n");
  const auto none = folder_.write("none.txt", "\n\n");
  EXPECT_EQ(read({a, none, b}), (TextSourceLines{"|one", "two", "|three", "|four"}));
}

TEST_F(TextReaderTest, LinkedDirectoriesAreFollowedButNotInACycle) {
  namespace fs = std::filesystem;
  fs::create_directories(folder_.path("texts/a"));
  fs::create_directories(folder_.path("elsewhere"));
  folder_.write("texts/a/1.txt", "one");
  folder_.write("elsewhere/2.txt", "two");
  fs::create_directory_symlink("../elsewhere", folder_.path("texts/b"));
  fs::create_directory_symlink("..", folder_.path("texts/a/cycle"));
  EXPECT_EQ(text_files_in(folder_.path("texts")),
            (TextSourceLines{folder_.path("texts/a/1.txt"), folder_.path("texts/b/2.txt")}));
}

TEST_F(TextReaderTest, AWholeFileMayBeADocument) {
  options_.document = DocumentBoundary::kFile;
  const auto a = folder_.write("a.txt", "\none\n\ntwo\n");
  EXPECT_EQ(read({a, a}), (TextSourceLines{"|one", "two", "|one", "two"}));
}

TEST_F(TextReaderTest, RowsOfTablesAreDocuments) {
  const auto csv = folder_.write("a.csv", "id,text\n1,\"one\n\ntwo \"\n2,\n3,three\n");
  const auto json = folder_.write(
      "b.jsonl",
      "{\"sentence\": \"four\\nfive\"}\n{\"sentence\": null}\n{\"sentence\": \"six\"}\n");
  EXPECT_EQ(read({csv, json}), (TextSourceLines{"|one", "two", "|three", "|four", "five", "|six"}));
}

TEST_F(TextReaderTest, NamedColumnsAreRead) {
  const auto tsv = folder_.write("a.tsv", "first\tsecond\tlabel\na\tb\tx\nc\td\ty\n");
  item_.text = "second";
  EXPECT_EQ(read({tsv}), (TextSourceLines{"|b", "|d"}));
  item_.text_pair = "first";
  EXPECT_EQ(read({tsv}), (TextSourceLines{"|b", "a", "|d", "c"}));
  item_.text = std::nullopt;
  EXPECT_THROW(read({tsv}), Error);
}

TEST_F(TextReaderTest, LongLinesAreSplitAtWhiteSpace) {
  const std::string word(1000, 'x');
  std::string line;
  while (line.size() < 2'500'000) {
    line += word + " ";
  }
  const auto total = line.size() - line.size() / 1001;
  const auto plain = folder_.write("a.txt", "before\n" + line + "\n\nafter\n");
  const auto table = folder_.write("a.tsv", "text\nbefore\n" + line + "\nafter\n");
  for (const auto& file : {plain, table}) {
    const auto lines = read({file});
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(line_splits_, 2);
    EXPECT_EQ(lines.back(), "|after");
    std::size_t kept = 0;
    for (std::size_t index = 1; index < 4; ++index) {
      EXPECT_LE(lines[index].size(), static_cast<std::size_t>(TextReader::kMaxLineBytes) + 1);
      kept += static_cast<std::size_t>(std::count(lines[index].begin(), lines[index].end(), 'x'));
    }
    EXPECT_EQ(kept, total);
  }
}

TEST_F(TextReaderTest, VisitTextsTakesBothTextsAndRepairs) {
  const auto plain = folder_.write("a.txt", "One. Two.\n\nbad \xFF byte\n");
  const auto pairs = folder_.write("b.tsv", "sentence1\tsentence2\tlabel\na\tb\t1\n");
  EXPECT_EQ(visited({plain, pairs}),
            (TextSourceLines{"One. Two.", "bad \xEF\xBF\xBD byte", "a", "b"}));
  EXPECT_EQ(read({pairs}), (TextSourceLines{"|a"}));
}

}  // namespace
}  // namespace weft::data
