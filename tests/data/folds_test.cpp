#include "data/folds.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/datasets/labelled_dataset.h"
#include "data/error.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

TEST(Folds, FoldsAreStratified) {
  std::vector<int64_t> classes(53, 0);
  std::fill(classes.begin() + 40, classes.end(), 1);
  const auto folds = assign_folds(classes, 5, 3);
  std::map<int64_t, std::map<int64_t, int64_t>> counts;
  std::map<int64_t, int64_t> sizes;
  for (std::size_t row = 0; row < folds.size(); ++row) {
    ++counts[folds[row]][classes[row]];
    ++sizes[folds[row]];
  }
  ASSERT_EQ(sizes.size(), 5U);
  for (int64_t fold = 0; fold < 5; ++fold) {
    EXPECT_EQ(counts[fold][0], 8);
    EXPECT_GE(counts[fold][1], 2);
    EXPECT_LE(counts[fold][1], 3);
    EXPECT_GE(sizes[fold], 10);
    EXPECT_LE(sizes[fold], 11);
  }
}

TEST(Folds, TheSeedDecides) {
  const std::vector<int64_t> classes(40, 0);
  EXPECT_EQ(assign_folds(classes, 4, 3), assign_folds(classes, 4, 3));
  EXPECT_NE(assign_folds(classes, 4, 3), assign_folds(classes, 4, 4));
}

class FoldedDataset : public ::testing::Test {
 protected:
  std::shared_ptr<const LabelledDataset> make(const Fold& fold, bool is_regression = false) {
    LabelledSettings settings;
    settings.label_format.is_regression = is_regression;
    settings.fold = fold;
    DataItem item;
    item.path = folder_.write(
        "x.tsv", is_regression ? "label\ttext\n1\ta\n2\tb\n3\tc\n4\td\n5\ta a\n"
                               : "label\ttext\nno\ta\nno\tb\nyes\tc\nyes\td\nno\ta a\nyes\tb b\n");
    item.files = {item.path};
    return make_labelled_dataset({item}, settings, tokenizer_);
  }

  static std::set<std::string> texts(const LabelledDataset& dataset) {
    std::set<std::string> found;
    for (int64_t i = 0; i < dataset.size(0); ++i) {
      found.insert(dataset.texts(0, i)[0]);
    }
    return found;
  }

  test::Folder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(std::vector<std::string>{"a", "b", "c", "d"});
};

TEST_F(FoldedDataset, HeldOutRowsComplementTheTrainingRows) {
  std::multiset<std::string> held;
  for (int64_t number = 1; number <= 3; ++number) {
    const auto rest = make({.count = 3, .number = number, .seed = 1});
    const auto part = make({.count = 3, .number = number, .is_held_out = true, .seed = 1});
    EXPECT_EQ(rest->size(0), 4);
    EXPECT_EQ(part->size(0), 2);
    EXPECT_EQ(part->class_counts(), (std::vector<int64_t>{1, 1}));
    const auto here = texts(*part);
    for (const auto& text : texts(*rest)) {
      EXPECT_FALSE(here.contains(text));
    }
    held.insert(here.begin(), here.end());
    EXPECT_NE(rest->fingerprint(), part->fingerprint());
  }
  EXPECT_EQ(held, (std::multiset<std::string>{"a", "a a", "b", "b b", "c", "d"}));
}

TEST_F(FoldedDataset, KeepsEachRowWithItsTarget) {
  const std::map<std::string, double> wanted = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"a a", 5}};
  const auto dataset = make({.count = 2, .number = 2, .seed = 1}, true);
  for (int64_t i = 0; i < dataset->size(0); ++i) {
    EXPECT_EQ(dataset->example(0, i).values[0], wanted.at(dataset->texts(0, i)[0]));
  }
}

// The rows of a fold must not depend on the tokenizer, which is trained on the other rows.
TEST_F(FoldedDataset, TokenizerIsTrainedWithoutTheHeldOutFold) {
  DataItem item;
  item.path = folder_.write(
      "y.tsv",
      "label\ttext\ttext_pair\nno\ta\tb\nno\tb\tc\nyes\tc\td\nyes\td\ta\nno\ta a\td d\n\tc c\t\n");
  item.files = {item.path};
  LabelledSettings settings;
  settings.label_format.unlabelled = Unlabelled::kDrop;
  settings.truncation = Truncation::kDrop;
  for (int64_t number = 1; number <= 2; ++number) {
    std::multiset<std::string> seen;
    visit_texts_excluding_fold({.count = 2, .number = number, .seed = 5}, {item},
                               settings.label_format,
                               [&](std::string_view text) { seen.insert(std::string(text)); });
    for (const int64_t length : {64, 6}) {  // at 6 some are too long and dropped
      settings.length = length;
      settings.fold = {.count = 2, .number = number, .is_held_out = true, .seed = 5};
      const auto held = make_labelled_dataset({item}, settings, tokenizer_);
      auto all = seen;
      for (int64_t i = 0; i < held->size(0); ++i) {
        const auto pair = held->texts(0, i);
        all.insert(pair.begin(), pair.end());
      }
      const std::multiset<std::string> whole = {"a", "b", "b",   "c",   "c",   "d",
                                                "d", "a", "a a", "d d", "c c", ""};
      EXPECT_TRUE(std::includes(whole.begin(), whole.end(), all.begin(), all.end()));
      EXPECT_TRUE(length == 6 || all == whole);
    }
    EXPECT_TRUE(seen.contains("c c"));  // without a label nothing is measured on it
  }
}

TEST_F(FoldedDataset, RefusesMoreFoldsThanRows) {
  EXPECT_THROW(make({.count = 7, .number = 1, .seed = 1}), Error);
}

}  // namespace
}  // namespace weft::data
