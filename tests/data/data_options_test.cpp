#include "data/data_options.h"

#include <gtest/gtest.h>

#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

class DataOptionsTest : public ::testing::Test {
 protected:
  using Keys = std::vector<std::pair<std::string, std::string>>;

  DataOptionsTest() {
    folder_.write("a.txt", "one\n");
    folder_.write("b.txt", "two\n");
    folder_.write("t.tsv", "label\tbody\n0\tx\n");
  }

  DataOptions read(const Keys& keys) {
    auto section = test::section("data", keys);
    return read_data_options(section);
  }

  std::string message(const Keys& keys) {
    std::string found = test::message_of<config::Error>([&] { read(keys); });
    for (auto at = found.find(folder_.path()); at != std::string::npos;
         at = found.find(folder_.path())) {
      found.replace(at, folder_.path().size(), "DIR");
    }
    return found;
  }

  std::string item(const std::string& name, const std::string& more = "") const {
    return "[{path: \"" + folder_.path(name) + "\"" + more + "}]";
  }

  test::Folder folder_;
};

TEST_F(DataOptionsTest, FindsTheFilesOfAPattern) {
  const DataOptions options = read({{"train", item("*.txt", ", weight: 0.5")}});
  ASSERT_EQ(options.train.size(), 1U);
  EXPECT_EQ(options.train[0].files,
            (std::vector<std::string>{folder_.path("a.txt"), folder_.path("b.txt")}));
  EXPECT_EQ(options.train[0].weight, 0.5);
  EXPECT_TRUE(options.evaluate.empty());
  EXPECT_TRUE(options.shuffle);
  EXPECT_EQ(options.pack, Pack::kDocument);
  EXPECT_FALSE(options.truncation.has_value());
  EXPECT_FALSE(options.length.has_value());
  EXPECT_EQ(options.workers, 1);
}

TEST_F(DataOptionsTest, ReadsTheFormatOfTables) {
  folder_.write("h.csv", "ham;Hello\n");
  const auto options = read({{"train", item("h.csv", ", delimiter: ';', header: false, text: 2")}});
  EXPECT_EQ(options.train.front().table.delimiter, ';');
  EXPECT_FALSE(options.train.front().table.has_header);
  EXPECT_EQ(message({{"train", item("h.csv", ", delimiter: '::'")}}),
            "test.yaml:1:65: data.train.0.delimiter: '::', must be one ASCII character");
  EXPECT_EQ(message({{"train", item("t.tsv", ", delimiter: ';'")}}),
            "test.yaml:1:65: data.train.0.delimiter: only for csv files, not for DIR/t.tsv");
  EXPECT_EQ(message({{"train", item("a.txt", ", header: false")}}),
            "test.yaml:1:62: data.train.0.header: only for csv and tsv files, not for DIR/a.txt");
}

TEST_F(DataOptionsTest, ReadsEveryKey) {
  const DataOptions options = read({{"train", item("t.tsv", ", text: body, label: label")},
                                    {"evaluate", item("a.txt")},
                                    {"shuffle", "false"},
                                    {"overflow", "drop"},
                                    {"pack", "stream"},
                                    {"length", "64"},
                                    {"document_boundary", "file"},
                                    {"sentence_boundary", "punctuation"},
                                    {"cache_dir", "/tmp/x"},
                                    {"num_workers", "3"}});
  EXPECT_EQ(options.train[0].text, "body");
  EXPECT_EQ(options.train[0].label, "label");
  EXPECT_EQ(options.evaluate.size(), 1U);
  EXPECT_FALSE(options.shuffle);
  EXPECT_EQ(options.truncation, Truncation::kDrop);
  EXPECT_EQ(options.pack, Pack::kStream);
  EXPECT_EQ(options.length, 64);
  EXPECT_EQ(options.document, DocumentBoundary::kFile);
  EXPECT_EQ(options.sentence, SentenceBoundary::kPunctuation);
  EXPECT_EQ(options.cache, "/tmp/x");
  EXPECT_EQ(options.workers, 3);
}

TEST_F(DataOptionsTest, ColumnsOfTaggedFilesAreNumbers) {
  const auto options = read({{"train", item("a.txt", ", text: 1, label: 3")}});
  EXPECT_EQ(options.train[0].text, "1");
  EXPECT_EQ(options.train[0].label, "3");
  EXPECT_NE(message({{"train", item("a.txt", ", label: UPOS")}}).find("has no column names"),
            std::string::npos);
}

TEST_F(DataOptionsTest, NamesWhatIsMissing) {
  EXPECT_NE(message({{"train", item("c*.txt")}}).find("path: 'DIR/c*.txt': no file matches"),
            std::string::npos);
  EXPECT_NE(message({{"train", item("c.txt")}}).find("path: 'DIR/c.txt': no such file"),
            std::string::npos);
  EXPECT_NE(message({{"train", item("t.tsv", ", text: boddy")}})
                .find("text: 'boddy' is not a column of DIR/t.tsv (did you mean 'body'?), which "
                      "has 'label', 'body'"),
            std::string::npos);
  EXPECT_NE(message({{"train", item("a.txt", ", label: x")}}).find("has no column names"),
            std::string::npos);
}

TEST_F(DataOptionsTest, RefusesWhatIsOutOfRange) {
  EXPECT_NE(message({}).find("data.train"), std::string::npos);
  EXPECT_NE(message({{"train", "[]"}}).find("data.train"), std::string::npos);
  EXPECT_NE(message({{"train", "17"}}).find("17"), std::string::npos);
  EXPECT_NE(message({{"train", item("a.txt", ", weight: 0")}}).find("weight"), std::string::npos);
  EXPECT_NE(message({{"train", item("a.txt", ", wieght: 1")}}).find("weight"), std::string::npos);
  EXPECT_NE(message({{"train", item("a.txt")}, {"evaluate", "[{weight: 1}]"}}).find("path"),
            std::string::npos);
  EXPECT_NE(message({{"train", item("a.txt")}, {"pack", "strem"}}).find("stream"),
            std::string::npos);
  EXPECT_NE(message({{"train", item("a.txt")}, {"length", "3"}}).find("length"), std::string::npos);
}

TEST(DataOptions, DescribingTouchesNoFile) {
  auto section = config::Section::for_documentation();
  EXPECT_NO_THROW(read_data_options(section));
}

TEST_F(DataOptionsTest, ReadsASplit) {
  const auto split = read({{"train", item("t.tsv", ", text: body")},
                           {"split",
                            "{evaluate: 0.1, test: 5, group: label, stratify: false, "
                            "seed: 3}"}})
                         .split;
  EXPECT_EQ(split.evaluate, 0.1);
  EXPECT_EQ(split.test, 5);
  EXPECT_EQ(split.group, "label");
  EXPECT_FALSE(split.stratify);
  EXPECT_EQ(split.seed, 3);
  EXPECT_FALSE(read({{"train", item("a.txt")}}).split.is_used());
  // Rows for the test do not concern the files to evaluate on.
  EXPECT_TRUE(read({{"train", item("a.txt")}, {"evaluate", item("b.txt")}, {"split", "{test: 1}"}})
                  .has_evaluation());
}

TEST_F(DataOptionsTest, RefusesASplitThatCannotBe) {
  const auto refusal = [&](const std::string& split, const Keys& more = {}) {
    Keys keys = {{"train", item("t.tsv", ", text: body")}, {"split", split}};
    keys.insert(keys.end(), more.begin(), more.end());
    const auto found = message(keys);
    return found.substr(found.find("data.split"));
  };
  EXPECT_EQ(refusal("{evaluate: 1.5}"),
            "data.split.evaluate: 1.5, must be a fraction below 1 or a whole number of rows");
  EXPECT_EQ(refusal("{evaluate: 0.5, test: 0.5}"),
            "data.split.test: evaluate and test are 1 of the rows together, must be less than 1");
  EXPECT_EQ(refusal("{group: label}"), "data.split.group: has no effect without evaluate or test");
  EXPECT_EQ(refusal("{seed: 3}"), "data.split.seed: has no effect without evaluate or test");
  EXPECT_EQ(refusal("{stratify: false}"),
            "data.split.stratify: has no effect without evaluate or test");
  EXPECT_EQ(
      refusal("{test: 0.1}", {{"folds", "3"}}),
      "data.split.test: cannot be combined with data.folds (weft train --folds): each fold is "
      "held out in turn");
  EXPECT_EQ(refusal("{evaluate: 0.1}", {{"evaluate", item("a.txt")}}),
            "data.split.evaluate: cannot be combined with data.evaluate: omit one of them");
  EXPECT_EQ(refusal("{test: 1, group: lable}"),
            "data.split.group: 'lable' is not a column of DIR/t.tsv (did you mean 'label'?), which "
            "has 'label', 'body'");
  EXPECT_TRUE(message({{"train", item("a.txt")}, {"split", "{test: 1, group: x}"}})
                  .ends_with("data.split.group: 'x', but DIR/a.txt has no named columns, must be a "
                             "csv, tsv or jsonl file"));
}

}  // namespace
}  // namespace weft::data
