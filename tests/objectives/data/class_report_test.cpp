#include "objectives/data/class_report.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "data/datasets/labelled_dataset.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::objectives {
namespace {

using ReportLines = std::vector<std::string>;

/// Data with these classes and numbers of rows; what `train` contains has no effect.
Datasets report_of(const std::vector<std::string>& labels,
                   const std::vector<int64_t>& counts,
                   const ClassKind& kind = {},
                   const std::vector<int64_t>& evaluated = {}) {
  const test::Folder folder;
  data::DataItem item;
  item.path = folder.write("rows.tsv", "label\ttext\na\tx\n");
  item.files = {item.path};
  Datasets data;
  data.train = data::make_labelled_dataset(
      {item}, {}, std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"x"}));
  data.labels = labels;
  data.class_counts = counts;
  data.rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  report_classes(kind, evaluated, data);
  return data;
}

TEST(ClassReport, NamesAndCountsClasses) {
  const auto data = report_of({"ham", "spam"}, {4825, 747});
  EXPECT_EQ(data.remarks, (ReportLines{"train: 5,572 rows of 2 classes: ham 4,825 (86.59 %), spam "
                                       "747 (13.41 %)"}));
  EXPECT_TRUE(data.warnings.empty());
}

TEST(ClassReport, LongListsAreAbbreviated) {
  std::vector<std::string> labels;
  for (int i = 0; i < 143; ++i) {
    labels.push_back(str_cat("c", i));
  }
  const auto data = report_of(labels, std::vector<int64_t>(143, 1));
  EXPECT_TRUE(data.remarks.front().ends_with("c19 1 (0.70 %) and 123 more"))
      << data.remarks.front();
}

TEST(ClassReport, WarnsOfClassesThatOneSplitLacks) {
  const auto data = report_of({"a", "b", "c"}, {3, 0, 0}, {.unit = "images"}, {0, 1, 2});
  EXPECT_EQ(data.warnings, (ReportLines{"train: no images of the classes b, c",
                                        "evaluate: no images of the class a"}));
}

TEST(ClassReport, WarnsOfNamesThatDifferOnlyInCaseOrSpaces) {
  const auto data =
      report_of({" ja", "Nein", "nein", "\xc3\x84", "\xc3\xa4", "ja"}, std::vector<int64_t>(6, 1));
  EXPECT_EQ(data.warnings,
            (ReportLines{"classes that differ only in case or surrounding spaces: ' ja' and 'ja', "
                         "'Nein' and 'nein', '\xc3\x84' and '\xc3\xa4'"}));
}

TEST(ClassReport, WarnsOfNamesThatListOtherClasses) {
  const auto warnings = [](const std::vector<std::string>& labels, bool may_be_lists = true) {
    return report_of(labels, std::vector<int64_t>(labels.size(), 1), {.may_be_lists = may_be_lists})
        .warnings;
  };
  EXPECT_EQ(
      warnings({"price", "price| quality", "quality", "quality|price"}),
      (ReportLines{"the class 'price| quality' is a list of other classes; if rows have "
                   "several, use objective.multi_label: true and data.label_separator: '|'"}));
  EXPECT_TRUE(warnings({"price", "price|quality", "quality"}, false).empty());
  EXPECT_TRUE(warnings({"business", "business|world", "sports; news"}).empty());
  EXPECT_EQ(warnings({"a", "b", "b,a"}).size(), 1U);
}

TEST(ClassReport, WarnsOfStrongImbalanceWhereClassesExcludeEachOther) {
  EXPECT_TRUE(report_of({"a", "b"}, {19, 1}).warnings.empty());
  const auto warnings = report_of({"a", "b"}, {40, 2}).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings.front().starts_with(
      "train: strong imbalance, from b 2 (4.76 %) to a 40 (95.24 %) rows; "))
      << warnings.front();
  EXPECT_TRUE(report_of({"a", "b"}, {40, 2}, {.may_be_imbalanced = false}).warnings.empty());
}

TEST(ClassReport, AsksWhetherNumbersAreValues) {
  const auto asks = [](const std::vector<std::string>& labels, bool may_be_numbers) {
    return report_of(labels, std::vector<int64_t>(labels.size(), 1),
                     {.may_be_numbers = may_be_numbers})
               .remarks.size() == 2;
  };
  EXPECT_TRUE(asks({"1", "2", "3"}, true));
  EXPECT_TRUE(asks({"0.5", "1"}, true));
  EXPECT_FALSE(asks({"0", "1"}, true));
  EXPECT_FALSE(asks({"1", "2", "many"}, true));
  EXPECT_FALSE(asks({"1", "2", "3"}, false));
}

}  // namespace
}  // namespace weft::objectives
