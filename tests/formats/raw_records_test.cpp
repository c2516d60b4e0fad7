#include <gtest/gtest.h>

#include "formats/table_reader.h"
#include "support/folder.h"

namespace weft::formats {
namespace {

using RawLines = std::vector<std::string>;

RawRecords records(const std::string& name, const std::string& content) {
  const test::Folder folder;
  const auto path = folder.write(name, content);
  return read_raw_records(path, *table_kind(path));
}

TEST(RawRecords, RowsOfACsvMaySpanLines) {
  const auto found =
      records("x.csv",
              "\xEF\xBB\xBFtext,\"la\nbel\"\r\n\"a \"\"quote\"\", and\n\nmore\",1\r\n\r\n"
              "b \"x,2\n,\n\"c\",\"3\"");
  EXPECT_EQ(found.header, "\xEF\xBB\xBFtext,\"la\nbel\"\r\n");
  EXPECT_EQ(found.rows, (RawLines{"\"a \"\"quote\"\", and\n\nmore\",1\r\n", "b \"x,2\n", ",\n",
                                  "\"c\",\"3\"\n"}));
}

TEST(RawRecords, RowsOfATsvAreLines) {
  const auto found = records("x.tsv", "a\tb\n\n\"1\t2\n\t\r\n \t3");
  EXPECT_EQ(found.header, "a\tb\n");
  EXPECT_EQ(found.rows, (RawLines{"\"1\t2\n", "\t\r\n", " \t3\n"}));
}

TEST(RawRecords, JsonLinesHaveNoHeader) {
  const auto found = records("x.jsonl", "\xEF\xBB\xBF{\"a\": 1}\n  \n{\"a\": 2 }\n");
  EXPECT_EQ(found.header, "");
  EXPECT_EQ(found.rows, (RawLines{"{\"a\": 1}\n", "{\"a\": 2 }\n"}));
}

}  // namespace
}  // namespace weft::formats
