#include "data/datasets/labelled_dataset.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "data/labels.h"
#include "data/rows/labelled_rows.h"
#include "formats/error.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;
using WordList = std::vector<std::string>;

class LabelledDatasetTest : public ::testing::Test {
 protected:
  DataItem item(const std::string& name, const std::string& content) {
    return test::data_item(folder_, name, content);
  }

  std::shared_ptr<const LabelledDataset> make(const std::vector<DataItem>& items,
                                              const LabelledSettings& settings = {}) {
    return make_labelled_dataset(items, settings, tokenizer_);
  }

  template <class Work>
  std::string message(const Work& work) {
    try {
      work();
    } catch (const UserError& error) {
      std::string text = error.what();
      const auto at = text.find(folder_.path() + "/");
      return at == std::string::npos ? text : text.erase(at, folder_.path().size() + 1);
    }
    return "nothing thrown";
  }

  test::Folder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(WordList{"a", "b", "c", "d"});  // ids 5 to 8
};

TEST_F(LabelledDatasetTest, TypesAreTheLanguageOfTheItem) {
  auto german = item("de.tsv", "label\ttext\ttext_pair\nspam\ta\tb\nham\tc\td\n");
  auto english = german;
  german.language = "de";
  english.language = "en";
  const LabelledSettings settings{.has_token_type_ids = false, .languages = {"de", "en"}};
  const auto dataset = make({german, english}, settings);
  EXPECT_EQ(dataset->example(0, 0).token_type_ids, Ids(5, 0));
  EXPECT_EQ(dataset->example(0, 2).token_type_ids, Ids(5, 1));
  EXPECT_NE(dataset->fingerprint(), make({english, german}, settings)->fingerprint());
  english.language = "";
  EXPECT_EQ(message([&] { make({english}, settings); }),
            "de.tsv: language: missing, must be one of the model's languages: de, en");
}

TEST_F(LabelledDatasetTest, ReadsTextsAndSortsLabels) {
  const auto dataset = make({item("x.tsv", "label\ttext\nspam\ta b\nham\tc\nspam\td\n")});
  EXPECT_EQ(dataset->labels(), (WordList{"ham", "spam"}));
  ASSERT_EQ(dataset->size(0), 3);
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 5, 6, 3}));
  EXPECT_EQ(dataset->example(0, 0).token_type_ids, (Ids{0, 0, 0, 0}));
  EXPECT_EQ(dataset->example(0, 0).label, 1);
  EXPECT_EQ(dataset->example(0, 1).label, 0);
  EXPECT_EQ(dataset->texts(0, 1), (WordList{"c"}));
  EXPECT_EQ(dataset->length(0, 0), 4);
  EXPECT_TRUE(dataset->remarks().empty());
}

TEST_F(LabelledDatasetTest, ReadsADirectoryPerClass) {
  const auto root = folder_.path("reviews");
  std::filesystem::create_directories(root + "/pos/more");
  std::filesystem::create_directories(root + "/neg");
  folder_.write("reviews/pos/2.txt", "a\nb\n");
  folder_.write("reviews/pos/more/1.txt", "c");
  folder_.write("reviews/pos/readme.md", "not a text");
  folder_.write("reviews/neg/1.txt", "d");
  const DataItem directory{.path = root, .files = {root}};
  const auto dataset = make({directory});
  EXPECT_EQ(dataset->labels(), (WordList{"neg", "pos"}));
  ASSERT_EQ(dataset->size(0), 3);
  EXPECT_EQ(dataset->texts(0, 1), (WordList{"a\nb"}));
  EXPECT_EQ(dataset->example(0, 2).label, 1);
  EXPECT_EQ(dataset->location(0, 0), root + "/neg/1.txt, row 1");
  folder_.write("reviews/lost.txt", "a");
  EXPECT_EQ(message([&] { make({directory}); }),
            "reviews/lost.txt: not in the subdirectory of a class");
  const auto empty = folder_.path("empty");
  std::filesystem::create_directories(empty);
  EXPECT_NE(message([&] {
              make({{.path = empty, .files = {empty}}});
            }).find("empty: a directory without .txt files, must have one subdirectory"),
            std::string::npos);
}

TEST_F(LabelledDatasetTest, NumericLabelsGetTheirNames) {
  auto data = item("x.csv", "Label;Text\n1;a\n0;b\nspam;c\n");
  data.names_file = folder_.write("names.txt", "ham\nspam\n");
  const auto dataset = make({data});
  EXPECT_EQ(dataset->labels(), (WordList{"ham", "spam"}));
  EXPECT_EQ(dataset->example(0, 0).label, 1);
  EXPECT_EQ(dataset->example(0, 1).label, 0);
  EXPECT_EQ(dataset->example(0, 2).label, 1);
  EXPECT_EQ(dataset->remarks().size(), 3U);  // the delimiter and two columns
  data = item("x.csv", "label,text\n2,a\n");
  data.names_file = folder_.path("names.txt");
  EXPECT_EQ(message([&] { make({data}); }),
            "x.csv:2: label '2', must be a class name of names_file or a number from 0 to 1");
}

TEST_F(LabelledDatasetTest, ReadsPairsFromEveryKindOfTable) {
  const Ids expected = {2, 5, 6, 3, 7, 3};
  for (const DataItem& from : {item("x.tsv", "label\tsentence1\tsentence2\n1\ta b\tc\n0\ta\tb\n"),
                               item("x.csv", "sentence2,label,sentence1\nc,1,\"a b\"\r\nb,0,a\r\n"),
                               item("x.jsonl",
                                    "{\"text\": \"a b\", \"text_pair\": \"c\", \"label\": 1}\n"
                                    "{\"text\": \"a\", \"text_pair\": \"b\", \"label\": 0}\n")}) {
    const auto dataset = make({from});
    EXPECT_EQ(dataset->example(0, 0).ids, expected) << from.path;
    EXPECT_EQ(dataset->example(0, 0).token_type_ids, (Ids{0, 0, 0, 0, 1, 1}));
    EXPECT_EQ(dataset->example(0, 0).label, 1);
    EXPECT_EQ(dataset->texts(0, 0), (WordList{"a b", "c"}));
  }
}

TEST_F(LabelledDatasetTest, TakesTheColumnsThatAreNamed) {
  DataItem from = item("x.tsv", "text\tbody\tkind\na\tb c\tx\n");
  from.text = "body";
  from.label = "kind";
  const auto dataset = make({from});
  EXPECT_EQ(dataset->texts(0, 0), (WordList{"b c"}));
  from.text_pair = "text";
  EXPECT_EQ(make({from})->texts(0, 0), (WordList{"b c", "a"}));
}

TEST_F(LabelledDatasetTest, ATextIsNotPairedWithItself) {
  for (auto from :
       {item("x.tsv", "label\tsentence1\tsentence2\n1\ta b\tc\n0\ta\tb\n"),
        item("x.jsonl", "{\"sentence1\": \"a b\", \"sentence2\": \"c\", \"label\": 1}\n")}) {
    from.text = "sentence2";
    EXPECT_EQ(make({from})->texts(0, 0), (WordList{"c"}));
    from.text_pair = "sentence2";  // asked for
    EXPECT_EQ(make({from})->texts(0, 0), (WordList{"c", "c"}));
  }
}

// A label that is missing is not one that is 0.
TEST_F(LabelledDatasetTest, RowsThatLackOneOfSeveralLabelsAreDropped) {
  auto from = item("x.jsonl",
                   "{\"text\": \"a\", \"toxic\": 1, \"insult\": 0}\n"
                   "{\"text\": \"b\", \"toxic\": 1, \"insult\": null}\n"
                   "{\"text\": \"c\", \"toxic\": 0, \"insult\": 0}\n"
                   "{\"text\": \"d\", \"toxic\": null, \"insult\": null}\n");
  from.labels = {"toxic", "insult"};
  const LabelledSettings settings{
      .label_format = {.is_multi_label = true, .unlabelled = Unlabelled::kDrop}};
  const auto dataset = make({from}, settings);
  ASSERT_EQ(dataset->size(0), 2);
  EXPECT_EQ(dataset->texts(0, 0), (WordList{"a"}));
  EXPECT_EQ(dataset->texts(0, 1), (WordList{"c"}));
  EXPECT_TRUE(dataset->location(0, 1).ends_with("x.jsonl, row 3"));
  const auto remarks = dataset->remarks();
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_TRUE(remarks[0].ends_with("1 row without a class was kept")) << remarks[0];
  EXPECT_TRUE(remarks[1].ends_with("2 rows without a label were dropped")) << remarks[1];
}

TEST_F(LabelledDatasetTest, APartOfADataSetMayBeEmpty) {
  auto parts = item("x-0.jsonl", "{\"text\": \"a\", \"text_pair\": \"b\", \"label\": 1}\n");
  const auto empty = item("x-1.jsonl", "");
  parts.files.insert(parts.files.begin(), empty.files.front());
  parts.files.push_back(empty.files.front());
  const auto dataset = make({parts});
  EXPECT_EQ(dataset->size(0), 1);
  EXPECT_EQ(dataset->texts(0, 0), (WordList{"a", "b"}));
  EXPECT_NE(message([&] { make({empty}); }).find("no rows"), std::string::npos);
}

TEST_F(LabelledDatasetTest, TruncatesAndReportsIt) {
  const auto dataset = make({item("x.tsv", "label\ttext\n0\ta b c d\n1\ta\n")}, {.length = 4});
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 5, 6, 3}));
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_TRUE(dataset->remarks()[0].ends_with("x.tsv: 1 text longer than 4 tokens was truncated"));
  const auto pairs =
      make({item("y.tsv", "label\tsentence1\tsentence2\n0\ta a a\tb b b b\n1\ta\tb b b b b b\n")},
           {.length = 8});
  EXPECT_EQ(pairs->example(0, 0).ids, (Ids{2, 5, 5, 3, 6, 6, 6, 3}));
  EXPECT_EQ(pairs->example(0, 1).ids, (Ids{2, 5, 3, 6, 6, 6, 6, 3}));
}

TEST_F(LabelledDatasetTest, TruncatesOnTheLeftIfTheTokenizerDoes) {
  tokenizer_ = std::make_shared<test::LeftTruncatingTokenizer>(WordList{"a", "b", "c", "d"});
  const auto dataset = make({item("x.tsv", "label\ttext\n0\ta b c d\n1\ta\n")}, {.length = 4});
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 7, 8, 3}));
  EXPECT_EQ(dataset->example(0, 1).ids, (Ids{2, 5, 3}));
  const auto pairs =
      make({item("y.tsv", "label\tsentence1\tsentence2\n0\ta b c\ta b c d\n")}, {.length = 8});
  EXPECT_EQ(pairs->example(0, 0).ids, (Ids{2, 6, 7, 3, 6, 7, 8, 3}));
}

TEST_F(LabelledDatasetTest, DropsAndReportsIt) {
  const auto dataset = make({item("x.tsv", "label\ttext\n0\ta b c d\n1\ta\n2\ta b\n")},
                            {.length = 4, .truncation = Truncation::kDrop});
  ASSERT_EQ(dataset->size(0), 2);
  EXPECT_EQ(dataset->labels(), (WordList{"0", "1", "2"}));
  EXPECT_EQ(dataset->texts(0, 1), (WordList{"a b"}));
  EXPECT_TRUE(dataset->location(0, 1).ends_with("x.tsv, row 3"));
  EXPECT_TRUE(dataset->remarks()[0].ends_with("1 text longer than 4 tokens was dropped"));
  EXPECT_THROW(make({item("y.tsv", "label\ttext\n0\ta b c d\n")},
                    {.length = 4, .truncation = Truncation::kDrop}),
               Error);
}

TEST_F(LabelledDatasetTest, RepairsWhatIsNotUtf8AndCountsIt) {
  const auto dataset = make({item("x.tsv", "label\ttext\ncaf\xE9\ta\n1\ta\xFF b\n2\ta\n")});
  EXPECT_EQ(dataset->labels(), (WordList{"1", "2", "caf\uFFFD"}));
  EXPECT_EQ(dataset->texts(0, 1), (WordList{"a\uFFFD b"}));
  EXPECT_TRUE(dataset->remarks()[0].ends_with(
      "x.tsv: 2 rows with invalid UTF-8 were repaired: U+FFFD replaces the invalid bytes"));
}

TEST_F(LabelledDatasetTest, KeepsEmptyTextsAndCountsThem) {
  const auto dataset = make({item("x.tsv", "label\ttext\n0\t\n1\ta\n")});
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 3}));
  EXPECT_TRUE(dataset->remarks()[0].ends_with("x.tsv: 1 row with an empty text was kept"));
}

TEST_F(LabelledDatasetTest, ReadsValuesOfARegression) {
  const auto dataset = make({item("x.tsv", "label\ttext\n2.5\ta\n-1e1\tb\n")},
                            {.label_format = {.is_regression = true}});
  EXPECT_EQ(dataset->example(0, 0).values, std::vector<double>{2.5});
  EXPECT_EQ(dataset->example(0, 1).values, std::vector<double>{-10});
  EXPECT_EQ(dataset->example(0, 0).label, kIgnoreIndex);
  EXPECT_TRUE(dataset->labels().empty());
  for (const std::string bad : {"nan", "inf", "1,5", "x", "1e999"}) {
    EXPECT_NE(message([&] {
                make({item("y.tsv", "label\ttext\n1\ta\n" + bad + "\tb\n")},
                     {.label_format = {.is_regression = true}});
              })
                  .find("y.tsv, row 2: '" + bad + "' is not a finite number" +
                        (bad == "1,5" ? "; numbers have a decimal point and no commas" : "")),
              std::string::npos)
        << bad;
  }
}

TEST_F(LabelledDatasetTest, NamesTheRowOfAMistake) {
  EXPECT_EQ(message([&] {
              make({item("x.tsv", "label\ttext\nham\ta\nspan\tb\n")}, {.labels = {"ham", "spam"}});
            }),
            "x.tsv, row 2: 'span' is not one of the classes ham, spam (did you mean 'spam'?)");
  EXPECT_NE(message([&] {
              make({item("x.tsv", "label\ttext\nham\ta\n \tb\n")});
            }).find("an empty field `label`"),
            std::string::npos);
  EXPECT_NE(message([&] {
              make({item("x.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\"}\n")});
            }).find("no field `label`"),
            std::string::npos);
  EXPECT_NE(message([&] { make({item("x.tsv", "label\tbody\nham\ta\n")}); })
                .find("x.tsv: no column text or sentence1 or sentence, choose one of 'label', "
                      "'body' with `text:`"),
            std::string::npos);
  EXPECT_NE(message([&] { make({item("x.tsv", "label\ttext\n")}); }).find("no rows"),
            std::string::npos);
  EXPECT_NE(message([&] { make({item("x.txt", "a\n")}); }).find("x.txt: not a table"),
            std::string::npos);
  EXPECT_NE(message([&] {
              make({item("x.tsv", "label\ttext\n0\ta\n")}, {.truncation = Truncation::kSplit});
            }).find("data.overflow"),
            std::string::npos);
}

TEST_F(LabelledDatasetTest, RefusesToMixSinglesAndPairs) {
  const DataItem one = item("x.tsv", "label\ttext\n0\ta\n");
  const DataItem two = item("y.tsv", "label\tsentence1\tsentence2\n0\ta\tb\n");
  EXPECT_THROW(make({one, two}), Error);
  DataItem both = one;
  both.files.push_back(two.path);
  EXPECT_THROW(make({both}), Error);
}

TEST_F(LabelledDatasetTest, WeighsItemsAndNamesTheirPlaces) {
  DataItem one = item("x.tsv", "label\ttext\n0\ta\n1\tb\n");
  one.weight = 2;
  DataItem two = item("y.tsv", "label\ttext\n0\tc\n1\td\n");
  two.files.push_back(item("z.tsv", "label\ttext\n1\ta b\n").path);
  const auto dataset = make({one, two});
  ASSERT_EQ(dataset->size(0), 7);
  EXPECT_EQ(dataset->texts(0, 3), (WordList{"b"}));
  EXPECT_TRUE(dataset->location(0, 5).ends_with("y.tsv, row 2"));
  EXPECT_TRUE(dataset->location(0, 6).ends_with("z.tsv, row 1"));
}

TEST_F(LabelledDatasetTest, ManyRowsKeepTheirOrder) {
  std::string content = "label\ttext\n";
  for (int row = 0; row < 2000; ++row) {
    content += std::to_string(row % 11) + "\t";
    for (int word = 0; word <= row % 7; ++word) {
      content += word % 2 == row % 2 ? "a " : "b ";
    }
    content += "\n";
  }
  const auto dataset = make({item("x.tsv", content)});
  EXPECT_EQ(dataset->labels().back(), "10");  // by value, not by letters
  for (int64_t row = 0; row < 2000; ++row) {
    const Example example = dataset->example(0, row);
    ASSERT_EQ(static_cast<int64_t>(example.ids.size()), row % 7 + 3);
    ASSERT_EQ(dataset->length(0, row), row % 7 + 3);
    ASSERT_EQ(example.ids[1], row % 2 == 0 ? 5 : 6);
    ASSERT_EQ(example.label, row % 11);
  }
}

TEST_F(LabelledDatasetTest, FingerprintDependsOnContent) {
  const auto hash = [&](const std::string& content, const LabelledSettings& settings = {}) {
    return make({item("x.tsv", "label\ttext\n" + content)}, settings)->fingerprint();
  };
  const std::set<uint64_t> all = {hash("0\ta\n1\tb\n"), hash("0\ta\n1\tc\n"), hash("1\ta\n0\tb\n"),
                                  hash("0\ta b\n1\t\n"), hash("0\ta\n1\tb\n", {.length = 9})};
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(hash("0\ta\n1\tb\n"), hash("0\ta\n1\tb\n"));
}

TEST(SortedLabels, ByValueWhereAllAreNumbers) {
  EXPECT_EQ(sorted_labels({"10", "9", "-1", "9"}), (WordList{"-1", "9", "10"}));
  EXPECT_EQ(sorted_labels({"b", "10", "9"}), (WordList{"10", "9", "b"}));
}

TEST(Labels, RefuseRepeatedNames) { EXPECT_THROW(Labels({"a", "b", "a"}), Error); }

}  // namespace
}  // namespace weft::data
