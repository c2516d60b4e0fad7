#include "data/label_form.h"

#include <gtest/gtest.h>

#include "data/datasets/labelled_dataset.h"
#include "data/error.h"
#include "support/config.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using WordList = std::vector<std::string>;
using Values = std::vector<double>;

const LabelFormat kFlags = {.is_multi_label = true};

class LabelFormTest : public ::testing::Test {
 protected:
  DataItem item(const std::string& name, const std::string& content) const {
    return test::data_item(folder_, name, content);
  }

  std::shared_ptr<const LabelledDataset> make(const DataItem& from,
                                              const LabelFormat& label_format,
                                              const WordList& labels = {}) const {
    LabelledSettings settings;
    settings.label_format = label_format;
    settings.labels = labels;
    return make_labelled_dataset({from}, settings, tokenizer_);
  }

  std::string mistake(const DataItem& from,
                      const LabelFormat& label_format,
                      const WordList& labels = {}) const {
    auto message = test::message_of<UserError>([&] { make(from, label_format, labels); });
    const auto at = message.find(folder_.path());
    return at == std::string::npos ? message : message.erase(at, folder_.path().size() + 1);
  }

  test::Folder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(WordList{"a", "b", "c"});
};

TEST_F(LabelFormTest, ListsOfJsonNameSeveralClasses) {
  const auto dataset = make(item("x.jsonl",
                                 "{\"text\": \"a\", \"label\": [\"news\", \"sport\"]}\n"
                                 "{\"text\": \"b\", \"label\": []}\n"
                                 "{\"text\": \"c\", \"label\": \"art\"}\n"
                                 "{\"text\": \"c\", \"label\": [\"sport\", \"sport\"]}\n"),
                            kFlags);
  EXPECT_EQ(dataset->labels(), (WordList{"art", "news", "sport"}));
  EXPECT_EQ(dataset->example(0, 0).values, (Values{0, 1, 1}));
  EXPECT_EQ(dataset->example(0, 1).values, (Values{0, 0, 0}));
  EXPECT_EQ(dataset->example(0, 2).values, (Values{1, 0, 0}));
  EXPECT_EQ(dataset->example(0, 3).values, (Values{0, 0, 1}));
  EXPECT_EQ(dataset->example(0, 0).label, kIgnoreIndex);
  EXPECT_EQ(dataset->class_counts(), (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(dataset->rows(), 4);
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_TRUE(dataset->remarks()[0].ends_with("x.jsonl: 1 row without a class was kept"));
}

TEST_F(LabelFormTest, NumbersOfAListAreNames) {
  const auto dataset = make(item("x.jsonl", "{\"text\": \"a\", \"label\": [10, 9]}\n"), kFlags);
  EXPECT_EQ(dataset->labels(), (WordList{"9", "10"}));
}

TEST_F(LabelFormTest, SeparatorSplitsTheNamesInATable) {
  const auto content = "label\ttext\nnews; sport\ta\n\tb\nart;\tc\n";
  const auto dataset = make(item("x.tsv", content), {.is_multi_label = true, .separator = ";"});
  EXPECT_EQ(dataset->labels(), (WordList{"art", "news", "sport"}));
  EXPECT_EQ(dataset->example(0, 0).values, (Values{0, 1, 1}));
  EXPECT_EQ(dataset->example(0, 1).values, (Values{0, 0, 0}));
  // Without a separator the whole field is a name.
  EXPECT_EQ(make(item("x.tsv", content), kFlags)->labels(), (WordList{"art;", "news; sport"}));
}

TEST_F(LabelFormTest, ColumnsMayStandForClasses) {
  DataItem from = item("x.csv", "text,toxic,insult\na,1,0\nb,0.0,true\n");
  from.labels = {"toxic", "insult"};
  const auto dataset = make(from, kFlags);
  EXPECT_EQ(dataset->labels(), from.labels);
  EXPECT_EQ(dataset->example(0, 0).values, (Values{1, 0}));
  EXPECT_EQ(dataset->example(0, 1).values, (Values{0, 1}));
  DataItem wrong = item("y.csv", "text,toxic,insult\na,1,2\n");
  wrong.labels = from.labels;
  EXPECT_EQ(mistake(wrong, kFlags),
            "y.csv:2: `insult` is '2', must be 1 (the row has this class) or 0");
  EXPECT_NE(mistake(from, {}).find("labels: several label columns, but each text has one class"),
            std::string::npos);
}

TEST_F(LabelFormTest, ARegressionMayHaveSeveralNumbers) {
  const LabelFormat numbers = {.is_regression = true};
  DataItem columns = item("x.csv", "text,joy,fear\na,0.5,-1\n");
  columns.labels = {"joy", "fear"};
  EXPECT_EQ(make(columns, numbers)->labels(), columns.labels);
  EXPECT_EQ(make(columns, numbers)->example(0, 0).values, (Values{0.5, -1}));
  const auto list = make(item("x.jsonl", "{\"text\": \"a\", \"label\": [1.5, 2, 3]}\n"), numbers);
  EXPECT_EQ(list->labels(), (WordList{"LABEL_0", "LABEL_1", "LABEL_2"}));
  EXPECT_EQ(list->example(0, 0).values, (Values{1.5, 2, 3}));
  EXPECT_EQ(mistake(item("y.jsonl",
                         "{\"text\": \"a\", \"label\": [1, 2]}\n{\"text\": \"a\", \"label\": 1}\n"),
                    numbers),
            "y.jsonl, row 2: 1 numbers, must be 2 as in the first row");
}

TEST_F(LabelFormTest, RowsWithoutALabelAreRefusedOrSkippedAndCounted) {
  const auto from = item("x.tsv", "label\ttext\n0\ta\n\tb\n1\tc\n");
  EXPECT_EQ(
      mistake(from, {}),
      "x.tsv:3: an empty field `label`, every row must have a label; data.unlabelled: drop skips "
      "such rows");
  const auto dataset = make(from, {.unlabelled = Unlabelled::kDrop});
  ASSERT_EQ(dataset->size(0), 2);
  EXPECT_EQ(dataset->texts(0, 1), (WordList{"c"}));
  EXPECT_TRUE(dataset->location(0, 1).ends_with("x.tsv, row 3"));
  EXPECT_TRUE(dataset->remarks()[0].ends_with("x.tsv: 1 row without a label was dropped"));
}

TEST_F(LabelFormTest, AClassThatTrainingDidNotHaveIsNamed) {
  EXPECT_EQ(mistake(item("x.jsonl", "{\"text\": \"a\", \"label\": [\"news\", \"sprot\"]}\n"),
                    kFlags, {"news", "sport"}),
            "x.jsonl, row 1: 'sprot' is not one of the classes news, sport (did you mean "
            "'sport'?)");
}

TEST_F(LabelFormTest, ListIsRefusedForSingleLabelData) {
  EXPECT_NE(mistake(item("x.jsonl", "{\"text\": \"a\", \"label\": [\"b\"]}\n"), {})
                .find("the field 'label' is a list, expected a string or a number"),
            std::string::npos);
  EXPECT_NE(mistake(item("y.jsonl", "{\"text\": \"a\", \"label\": [[\"b\"]]}\n"), kFlags)
                .find("the list 'label' contains a list or an object"),
            std::string::npos);
  EXPECT_NE(mistake(item("z.jsonl", "{\"text\": \"a\", \"label\": [null]}\n"), kFlags)
                .find("the list 'label' contains null"),
            std::string::npos);
}

TEST_F(LabelFormTest, FingerprintDependsOnClasses) {
  const auto hash = [&](const std::string& labels) {
    return make(item("x.jsonl", "{\"text\": \"a\", \"label\": " + labels + "}\n"), kFlags,
                {"p", "q"})
        ->fingerprint();
  };
  EXPECT_NE(hash("[\"p\"]"), hash("[\"q\"]"));
  EXPECT_NE(hash("[\"p\"]"), hash("[\"p\", \"q\"]"));
  EXPECT_EQ(hash("[\"p\", \"q\"]"), hash("[\"q\", \"p\"]"));
}

}  // namespace
}  // namespace weft::data
