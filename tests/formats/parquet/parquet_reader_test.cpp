#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/json.h"
#include "formats/table_reader.h"
#include "support/folder.h"

namespace weft::formats {
namespace {

using Names = std::vector<std::string>;
using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

/// Written by scripts/make_parquet_reference.py.
std::string reference(const std::string& name) {
  return WEFT_SOURCE_DIR "/tests/reference/parquet/" + name;
}

Rows rows_of(const std::string& path, const Names& columns, const Names& lists = {}) {
  TableReader reader(path, TableKind::kParquet, columns, {.lists = lists});
  Rows rows;
  for (Row row; reader.next(row);) {
    rows.push_back(row);
  }
  return rows;
}

/// The error without the directory.
std::string refusal(const std::string& path, const Names& columns, const Names& lists = {}) {
  try {
    rows_of(path, columns, lists);
    return "";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(path)) << message;
    return message.substr(path.rfind('/') + 1);
  }
}

TEST(ParquetReader, EveryFormHasTheSameRows) {
  const auto expected = read_json(reference("tables.json"));
  const auto columns = expected.at("columns").get<Names>();
  for (const auto& name : expected.at("files").get<Names>()) {
    const auto path = reference(name + ".parquet");
    EXPECT_EQ(read_column_names(path, TableKind::kParquet), columns) << name;
    const auto rows = rows_of(path, columns, columns);
    ASSERT_EQ(rows.size(), expected.at("rows").size()) << name;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        const auto& text = expected["rows"][row][column];
        EXPECT_EQ(rows[row][column],
                  text.is_null() ? std::nullopt : std::optional(text.get<std::string>()))
            << name << " " << columns[column] << " " << row;
      }
    }
  }
}

TEST(ParquetReader, OnlySelectedColumnsAreRead) {
  EXPECT_EQ(rows_of(reference("small.parquet"), {"label", "TEXT"}),
            (Rows{{"1", "one"}, {"0", "two"}, {"1", std::nullopt}}));
  EXPECT_EQ(rows_of(reference("others.parquet"), {"day"}), (Rows{{"19000"}}));
  EXPECT_EQ(refusal(reference("small.parquet"), {"lable"}),
            "small.parquet: no column 'lable', did you mean 'label'? The columns are 'text', "
            "'label'");
}

TEST(ParquetReader, ColumnsThatAreNotTextAreRefused) {
  const auto path = reference("others.parquet");
  const std::string allowed = ", allowed are strings, numbers, booleans, and lists of them";
  EXPECT_EQ(refusal(path, {"price"}), "others.parquet: column 'price': decimal numbers" + allowed);
  EXPECT_EQ(refusal(path, {"bytes"}),
            "others.parquet: column 'bytes': values of type FIXED_LEN_BYTE_ARRAY" + allowed);
  EXPECT_EQ(refusal(path, {"nested"}, {"nested"}),
            "others.parquet: column 'nested': lists of lists" + allowed);
  EXPECT_EQ(refusal(reference("time.parquet"), {"when"}),
            "time.parquet: column 'when': values of type INT96" + allowed);
}

TEST(ParquetReader, ListsMustBeAllowedAndWithoutNull) {
  EXPECT_EQ(refusal(reference("tagged.parquet"), {"tokens"}),
            "tagged.parquet, row 1: column 'tokens': a list, expected a string or a number");
  EXPECT_EQ(rows_of(reference("tagged.parquet"), {"ner_tags"}, {"ner_tags"}),
            (Rows{{"[\"1\",\"0\",\"1\"]"}, {"[\"0\"]"}}));
  EXPECT_EQ(refusal(reference("others.parquet"), {"gap"}, {"gap"}),
            "others.parquet, row 1: column 'gap': a list with null, expected strings or numbers");
}

TEST(ParquetReader, InvalidUtf8IsReplacedInLists) {
  EXPECT_EQ(rows_of(reference("others.parquet"), {"raw", "raws"}, {"raws"}),
            (Rows{{"a\xFF", "[\"a\xEF\xBF\xBD\"]"}}));
}

TEST(ParquetReader, OtherCodecsAreReportedByName) {
  for (const std::string codec : {"brotli", "lz4"}) {
    EXPECT_EQ(refusal(reference(codec + ".parquet"), {"text"}),
              codec + ".parquet, row 1: column 'text': Parquet data compressed with " + codec +
                  ", allowed is no compression, snappy, gzip or zstd: write it with "
                  "compression='zstd'");
  }
}

TEST(ParquetReader, NumbersRowsAndReportsProgress) {
  TableReader reader(reference("many.parquet"), TableKind::kParquet, {"same", "number"});
  EXPECT_EQ(reader.location(), reference("many.parquet"));
  EXPECT_EQ(reader.consumed(), 0);
  int64_t count = 0;
  for (Row row; reader.next(row); ++count) {
    ASSERT_EQ(row, (Row{"same", std::to_string(count)}));
  }
  EXPECT_EQ(count, 70'000);
  EXPECT_EQ(reader.location(), reference("many.parquet") + ", row 70000");
  EXPECT_EQ(reader.consumed(), static_cast<int64_t>(read_file(reference("many.parquet")).size()));
  EXPECT_EQ(reader.blank_lines(), 0);
  EXPECT_TRUE(rows_of(reference("empty.parquet"), {"text"}).empty());
}

TEST(ParquetReader, OtherFilesAreRefused) {
  const test::Folder folder;
  const auto refused = [&](const std::string& content) {
    return refusal(folder.write("a.parquet", content), {});
  };
  EXPECT_EQ(refused(""), "a.parquet: not a Parquet file, which starts and ends with PAR1");
  EXPECT_EQ(refused("text\n"), "a.parquet: not a Parquet file, which starts and ends with PAR1");
  EXPECT_EQ(refused("PAR1PARE"), "a.parquet: encrypted Parquet data, must be decrypted first");
  EXPECT_EQ(refused(std::string("PAR1\xFF\xFF\xFF\x7FPAR1", 12)),
            "a.parquet: damaged Parquet data: its metadata are larger than the file");
}

TEST(ParquetReader, ChecksumsAreChecked) {
  const test::Folder folder;
  auto bytes = read_file(reference("small.parquet"));
  bytes[bytes.find("two")] = 'T';
  EXPECT_EQ(refusal(folder.write("a.parquet", bytes), {"text"}),
            "a.parquet, row 1: column 'text': damaged Parquet data: a page with a wrong checksum");
}

TEST(ParquetReader, TruncatedFilesAreRefused) {
  const test::Folder folder;
  const auto bytes = read_file(reference("small.parquet"));
  for (std::size_t size = 4; size < bytes.size(); ++size) {
    EXPECT_EQ(refusal(folder.write("a.parquet", bytes.substr(0, size)), {"text"}),
              "a.parquet: damaged Parquet data: it does not end with PAR1, so the file is "
              "incomplete");
  }
}

TEST(ParquetReader, FlippedBitsGiveRowsOrAnErrorThatNamesTheFile) {
  const test::Folder folder;
  auto bytes = read_file(reference("small.parquet"));
  int64_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    refused += refusal(folder.write("a.parquet", bytes), {"text", "label"}).empty() ? 0 : 1;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  EXPECT_GT(refused, static_cast<int64_t>(4 * bytes.size()));  // half of them
}

}  // namespace
}  // namespace weft::formats
