#include <gtest/gtest.h>

#include "data/text/file_text.h"
#include "data/text/text_source.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using DocumentLines = std::vector<std::string>;

DocumentLines read_document(TextFileReader& text) {
  DocumentLines found;
  for (TextLine line; text.next(line);) {
    found.push_back((line.begins_document ? "|" : "") + std::string(line.text));
  }
  return found;
}

DocumentLines plain(const std::string& content, DocumentBoundary boundary, int64_t longest = 1000) {
  const test::Folder folder;
  return read_document(*make_document_reader(folder.write("a.txt", content), boundary, longest));
}

TEST(DocumentReader, KeepsLineFeedsAndSpacesOfADocument) {
  EXPECT_EQ(plain("\n \n one\n  two \r\n\t\n\nthree\n", DocumentBoundary::kEmptyLine),
            (DocumentLines{"| one\n  two ", "|three"}));
}

TEST(DocumentReader, AWholeFileKeepsItsEmptyLines) {
  EXPECT_EQ(plain("\none\n\ntwo\n", DocumentBoundary::kFile), (DocumentLines{"|\none\n\ntwo"}));
  EXPECT_EQ(plain("\n \n", DocumentBoundary::kFile), DocumentLines{});
}

TEST(DocumentReader, LinesMayBeDocuments) {
  EXPECT_EQ(plain("one\n\n two\n", DocumentBoundary::kLine), (DocumentLines{"|one", "| two"}));
}

TEST(DocumentReader, LongTextsAreSplitBeforeALineFeed) {
  const auto found = plain("abcdef\n\nghij\nklm\n\nnext", DocumentBoundary::kFile, 14);
  EXPECT_EQ(found, (DocumentLines{"|abcdef\n\nghij", "\nklm\n\nnext"}));
  EXPECT_EQ(plain("abcdef\nghij\nklm\n\nnext", DocumentBoundary::kEmptyLine, 8),
            (DocumentLines{"|abcdef", "\nghij", "\nklm", "|next"}));
}

TEST(DocumentReader, PiecesMakeUpTheDocument) {
  std::string whole;
  for (int i = 0; i < 300; ++i) {
    whole += "wörter" + std::string(static_cast<std::size_t>(i % 7), i % 3 == 0 ? ' ' : 'x') +
             (i % 5 == 0 ? "\n" : "");
  }
  std::string joined;
  for (const std::string& piece : plain(whole, DocumentBoundary::kFile, 40)) {
    joined += piece.substr(piece.starts_with("|") ? 1 : 0);
  }
  EXPECT_EQ(joined, whole);
}

TEST(DocumentReader, ARowIsADocument) {
  const test::Folder folder;
  const auto file = folder.write("a.csv", "text,more\n\"one\n two\",three\n,\nfour,\n");
  EXPECT_EQ(read_document(*make_row_reader(file, {"text", "more"})),
            (DocumentLines{"|one\n two\nthree", "|four\n"}));
}

TEST(TextReader, TakesDocumentsWholeWhereSentencesHaveNoBorder) {
  const test::Folder folder;
  DataItem item;
  item.files = {folder.write("a.txt", "one\ntwo\n\nthree"), folder.write("b.txt", "four\n")};
  DataOptions options;
  options.sentence = SentenceBoundary::kNone;
  TextReader reader(item, options);
  DocumentLines lines;
  for (TextLine line; reader.next(line);) {
    lines.push_back((line.begins_document ? "|" : "") + std::string(line.text));
  }
  EXPECT_EQ(lines, (DocumentLines{"|one\ntwo", "|three", "|four"}));
}

}  // namespace
}  // namespace weft::data
