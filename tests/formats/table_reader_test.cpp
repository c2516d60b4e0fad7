#include "formats/table_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::formats {
namespace {

using Row = std::vector<std::optional<std::string>>;

class TableReaderTest : public ::testing::Test {
 protected:
  std::vector<Row> read(const std::string& name,
                        const std::string& content,
                        const std::vector<std::string>& columns,
                        const TableOptions& options = {}) {
    TableReader reader(folder_.write(name, content), table_kind(name).value(), columns, options);
    remarks_ = reader.remarks();
    std::vector<Row> rows;
    for (Row row; reader.next(row);) {
      rows.push_back(row);
    }
    return rows;
  }
  std::string refusal(const std::string& name,
                      const std::string& content,
                      const std::vector<std::string>& columns,
                      const TableOptions& options = {}) {
    try {
      read(name, content, columns, options);
      return "";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(folder_.path(name)));
      return message.substr(folder_.path(name).size());
    }
  }

  test::Folder folder_;
  std::vector<std::string> remarks_;  // of the last `read`
};

using Rows = std::vector<Row>;

TEST_F(TableReaderTest, KindsGoByTheEnding) {
  EXPECT_EQ(table_kind("a/b.csv"), TableKind::kCsv);
  EXPECT_EQ(table_kind("b.tsv.gz"), TableKind::kTsv);
  EXPECT_EQ(table_kind("b.ndjson"), TableKind::kJsonl);
  EXPECT_EQ(table_kind("b.json.gz"), TableKind::kJsonl);
  EXPECT_EQ(table_kind("b.csv.zst"), TableKind::kCsv);
  EXPECT_EQ(table_kind("b.parquet"), TableKind::kParquet);
  EXPECT_EQ(table_kind("b.parquet.gz"), std::nullopt);
  EXPECT_EQ(table_kind("b.txt"), std::nullopt);
  EXPECT_EQ(table_kind("b.gz"), std::nullopt);
}

TEST_F(TableReaderTest, CsvFollowsItsStandard) {
  const std::string content =
      "id,text,label\r\n"
      "1,\"a, \"\"b\"\"\r\nsecond\nline\",x\r\n"
      "\r\n"
      "2,,\"\"\n"
      "3,it's \"so\",y";
  EXPECT_EQ(read("t.csv", content, {"label", "text"}),
            (Rows{{"x", "a, \"b\"\r\nsecond\nline"}, {"", ""}, {"y", "it's \"so\""}}));
}

TEST_F(TableReaderTest, CsvErrorsNameTheLineOfTheRow) {
  EXPECT_EQ(refusal("t.csv", "a,b\n1,2\n1,2,3\n", {"a"}),
            ":3: a row of 3 fields, expected 2 as in the header");
  EXPECT_EQ(refusal("t.csv", "a,b\n1,\"x\ny\n", {"a"}), ":2: a quote is opened and never closed");
  EXPECT_EQ(refusal("t.csv", "a,b\n1,\"x\"y\n", {"a"}),
            ":2: text after a closing quote, allowed is a comma or the end of the line");
  EXPECT_EQ(refusal("t.csv", "a,b\n\"x\ny\",1,2\n", {"a"}),
            ":2: a row of 3 fields, expected 2 as in the header");
  EXPECT_NE(refusal("t.csv", "", {"a"}), "");
}

TEST_F(TableReaderTest, CountsBlankLines) {
  const auto blank = [&](const std::string& name, const std::string& content) {
    TableReader reader(folder_.write(name, content), table_kind(name).value(), {"a"});
    for (Row row; reader.next(row);) {
    }
    return reader.blank_lines();
  };
  EXPECT_EQ(blank("t.csv", "\na,b\n\n1,\"x\n\ny\"\n\r\n"), 3);
  EXPECT_EQ(blank("t.tsv", "a\n1\n\n2\n\n"), 2);
  EXPECT_EQ(blank("t.jsonl", "\n{\"a\": 1}\n \n{\"a\": 2}\n"), 2);
  EXPECT_EQ(blank("none.tsv", "a\n1\n"), 0);
}

TEST_F(TableReaderTest, TheDelimiterOfACsvFileIsInferred) {
  const Rows rows = {{"a, b", "x"}};
  EXPECT_EQ(read("t.csv", "text;label\r\na, b;x\r\n", {"text", "label"}), rows);
  EXPECT_EQ(remarks_, (std::vector<std::string>{"fields are separated by ';'"}));
  EXPECT_EQ(read("t.csv", "text|\"x;y\"|label\n\"a, b\"|1|x\n", {"text", "label"}), rows);
  EXPECT_EQ(remarks_, (std::vector<std::string>{"fields are separated by '|'"}));
  EXPECT_EQ(read("t.csv", "text\tlabel\n\"a, b\"\tx\n", {"text", "label"}), rows);
  EXPECT_EQ(remarks_, (std::vector<std::string>{"fields are separated by tabs"}));
  EXPECT_EQ(read("t.csv", "text,a;b;c,label\n\"a, b\",1,x\n", {"text", "label"}), rows);
  EXPECT_TRUE(remarks_.empty());
  EXPECT_EQ(read("t.csv", "\xEF\xBB\xBFsep=:\r\ntext:label\r\na, b:x\r\n", {"text", "label"}),
            rows);
  EXPECT_EQ(remarks_, (std::vector<std::string>{"fields are separated by ':'"}));
  EXPECT_EQ(refusal("t.csv", "sep=;\n", {}),
            ": empty, expected a header line with the column names");
  EXPECT_EQ(refusal("t.csv", "a;b\n\"x\"y;1\n", {"a"}),
            ":2: text after a closing quote, allowed is ';' or the end of the line");
}

TEST_F(TableReaderTest, AGivenDelimiterIsNotQuestioned) {
  EXPECT_EQ(read("t.csv", "a,b;c\n1,2;3\n", {"a,b"}, {.delimiter = ';'}), (Rows{{"1,2"}}));
  EXPECT_EQ(read("t.csv", "sep=;|a\n1|2\n", {"sep=;"}, {.delimiter = '|'}), (Rows{{"1"}}));
  EXPECT_TRUE(remarks_.empty());
}

TEST_F(TableReaderTest, ColumnsWithoutAHeaderAreNumbers) {
  const TableOptions options = {.has_header = false};
  EXPECT_EQ(read("t.csv", "ham,Hello\nspam,\"Win, now\"\n", {"2", "1"}, options),
            (Rows{{"Hello", "ham"}, {"Win, now", "spam"}}));
  EXPECT_EQ(read("t.tsv", "\nham\tHello\n", {"1"}, options), (Rows{{"ham"}}));
  EXPECT_EQ(refusal("t.csv", "a,b\nc\n", {"1"}, options),
            ":2: a row of 1 fields, expected 2 as in the first");
  EXPECT_EQ(refusal("t.csv", "a,b\n", {"text"}, options),
            ":1: no column 'text', the columns are '1', '2'");
}

TEST_F(TableReaderTest, ColumnsAreFoundInAnyCaseAndByNumber) {
  EXPECT_EQ(read("t.csv", " Text , LABEL\na,b\n", {"label", "text"}), (Rows{{"b", "a"}}));
  EXPECT_EQ(remarks_, (std::vector<std::string>{"column ' LABEL' is read as 'label'",
                                                "column ' Text ' is read as 'text'"}));
  EXPECT_EQ(read("t.csv", "Text,text\na,b\n", {"text"}), (Rows{{"b"}}));
  EXPECT_EQ(read("t.csv", "x,1,z\na,b,c\n", {"1", "3"}), (Rows{{"b", "c"}}));
  EXPECT_EQ(read("t.jsonl", "{\"Über\": 1}\n", {"über"}), (Rows{{"1"}}));
  EXPECT_EQ(find_column("text", {"Text", "TEXT"}), std::nullopt);  // either could be meant
  EXPECT_EQ(find_column("3", {"a", "b"}), std::nullopt);
  EXPECT_EQ(find_column("0", {"a", "b"}), std::nullopt);
}

TEST_F(TableReaderTest, TsvHasNoQuotes) {
  EXPECT_EQ(read("t.tsv", "text\tlabel\r\n\"open\t1\r\n a \"b\" \t\n", {"text", "label"}),
            (Rows{{"\"open", "1"}, {" a \"b\" ", ""}}));
  EXPECT_EQ(refusal("t.tsv", "a\tb\nx\n", {"a"}),
            ":2: a row of 1 fields, expected 2 as in the header");
}

TEST_F(TableReaderTest, JsonFieldsComeAsText) {
  const std::string content =
      "{\"text\": \"a\\u00e9\\n\", \"label\": 1, \"more\": {\"x\": [1]}}\n\n"
      "{\"label\": 2.50, \"text\": null}\r\n"
      "{\"text\": true, \"label\": -7, \"other\": []}";
  EXPECT_EQ(read("t.jsonl", content, {"text", "label"}),
            (Rows{{"aé\n", "1"}, {std::nullopt, "2.50"}, {"true", "-7"}}));
}

TEST_F(TableReaderTest, FieldsOfObjectsWithinARowAreNamedByBoth) {
  const std::string content =
      "{\"id\": 1, \"pair\": {\"en\": \"a\", \"more\": {\"n\": [{\"en\": 0}], \"m\": 7}}, \"en\": "
      "\"x\"}\n"
      "{\"pair\": {\"more\": {\"m\": null}, \"en\": \"b\"}, \"list\": [{\"pair\": {\"en\": "
      "\"c\"}}]}\n"
      "{\"pair\": null}\n";
  EXPECT_EQ(read_column_names(folder_.write("t.jsonl", content), TableKind::kJsonl),
            (std::vector<std::string>{"id", "pair.en", "pair.more.n", "pair.more.m", "en"}));
  EXPECT_EQ(read("t.jsonl", content, {"pair.more.m", "pair.en", "en"}),
            (Rows{{"7", "a", "x"},
                  {std::nullopt, "b", std::nullopt},
                  {std::nullopt, std::nullopt, std::nullopt}}));
  EXPECT_EQ(refusal("t.jsonl", content, {"pair"}),
            ":1: no column 'pair', did you mean 'pair.en'? The columns are 'id', 'pair.en', "
            "'pair.more.n', 'pair.more.m', 'en'");
  EXPECT_NE(refusal("t.jsonl", "{\"a\": 1}\n{\"a\": {\"b\": 1}}\n", {"a"})
                .find("the field 'a' is an object, select one of its fields, 'a.KEY'"),
            std::string::npos);
}

TEST_F(TableReaderTest, JsonErrorsNameTheLine) {
  EXPECT_NE(refusal("t.jsonl", "{\"a\": 1}\n[2]\n", {"a"}).find(":2:1: a list"), std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"a\": 1}\n\n5\n", {"a"}).find(":3:1: not a JSON object"),
            std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"a\": 1}\n{\"a\": [1]}\n", {"a"}).find(":2:7: the field 'a'"),
            std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"a\": 1}\n{\"a\": 1, \"a\": 2}\n", {"a"}).find("is duplicated"),
            std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"a\": 1}\n{\"a\": 1\n", {"a"})
                .find(":2:8: the JSON text ends unexpectedly"),
            std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"a\": \"\xFF\"}\n", {"a"}).find("not UTF-8"), std::string::npos);
  EXPECT_EQ(read("t.jsonl", "", {"a"}), Rows{});
}

TEST_F(TableReaderTest, MissingColumnsAreNamedWithTheNearest) {
  EXPECT_EQ(refusal("t.tsv", "text\tlabel\n", {"labl"}),
            ":1: no column 'labl', did you mean 'label'? The columns are 'text', 'label'");
  EXPECT_EQ(refusal("t.jsonl", "{\"text\": 1}\n", {"zzzzzz"}),
            ":1: no column 'zzzzzz', the columns are 'text'");
  EXPECT_EQ(refusal("t.csv", "a,a,b\n", {"a"}), ":1: two columns have the name 'a'");
  EXPECT_EQ(refusal("t.csv", "a,a,b\n", {"b"}), "");
}

TEST_F(TableReaderTest, ColumnsAreListed) {
  EXPECT_EQ(read_column_names(folder_.write("t.csv", "\xEF\xBB\xBF\"a\",b\r\n"), TableKind::kCsv),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read_column_names(folder_.write("t.jsonl", "\n{\"x\": [{\"in\": 1}], \"y\": 2}\n"),
                              TableKind::kJsonl),
            (std::vector<std::string>{"x", "y"}));
}

}  // namespace
}  // namespace weft::formats
