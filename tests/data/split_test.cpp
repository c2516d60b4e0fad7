#include "data/split.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "support/config.h"

namespace weft::data {
namespace {

/// Rows of classes with these numbers of rows, in turn as far as they go; all contents differ.
std::vector<SplitRow> rows_of(std::map<std::string, int> counts) {
  std::vector<SplitRow> rows;
  while (!counts.empty()) {
    for (auto entry = counts.begin(); entry != counts.end();) {
      rows.push_back({.label = entry->first, .content = rows.size() + 1});
      entry = --entry->second == 0 ? counts.erase(entry) : std::next(entry);
    }
  }
  return rows;
}

std::map<std::string, int> counts_of(const std::vector<SplitRow>& rows,
                                     const Split& split,
                                     SplitPart part) {
  std::map<std::string, int> counts;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    counts[rows[row].label] += split.parts[row] == part ? 1 : 0;
  }
  return counts;
}

using ClassCounts = std::map<std::string, int>;

TEST(Split, DividesEachClassByTheLargestRemainder) {
  const auto rows = rows_of({{"a", 52}, {"b", 31}, {"c", 17}});
  const auto split = assign_split(rows, {.evaluate = 0.1, .test = 7}, 3);
  // 10 rows: 5.2, 3.1, 1.7; 7 rows: 3.64, 2.17, 1.19.
  EXPECT_EQ(counts_of(rows, split, SplitPart::kEvaluate),
            (ClassCounts{{"a", 5}, {"b", 3}, {"c", 2}}));
  EXPECT_EQ(counts_of(rows, split, SplitPart::kTest), (ClassCounts{{"a", 4}, {"b", 2}, {"c", 1}}));
  EXPECT_EQ(counts_of(rows, split, SplitPart::kTrain),
            (ClassCounts{{"a", 43}, {"b", 26}, {"c", 14}}));
  EXPECT_TRUE(split.remarks.empty());
}

TEST(Split, SeedAndRowsDecide) {
  const auto rows = rows_of({{"a", 60}, {"b", 40}});
  const SplitOptions options{.evaluate = 0.2};
  EXPECT_EQ(assign_split(rows, options, 3).parts, assign_split(rows, options, 3).parts);
  EXPECT_NE(assign_split(rows, options, 3).parts, assign_split(rows, options, 4).parts);
}

TEST(Split, WithoutStratificationTheClassesDoNotMatter) {
  auto rows = rows_of({{"a", 60}, {"b", 40}});
  const SplitOptions options{.evaluate = 0.2, .stratify = false};
  const auto parts = assign_split(rows, options, 3).parts;
  for (auto& row : rows) {
    row.label = "other";
  }
  EXPECT_EQ(assign_split(rows, options, 3).parts, parts);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), SplitPart::kEvaluate), 20);
}

TEST(Split, DuplicatesStayTogetherAlsoAcrossClasses) {
  auto rows = rows_of({{"a", 100}, {"b", 100}});
  for (std::size_t row = 0; row < 60; ++row) {
    rows[row].content = 1000 + row / 3;
  }
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto split = assign_split(rows, {.evaluate = 0.2, .test = 0.2}, seed);
    std::map<uint64_t, std::set<SplitPart>> parts;
    std::map<SplitPart, int> shared;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      parts[rows[row].content].insert(split.parts[row]);
      shared[split.parts[row]] += rows[row].content >= 1000 ? 1 : 0;
    }
    for (const auto& [content, found] : parts) {
      EXPECT_EQ(found.size(), 1U) << content;
    }
    // The parts are as large as without duplicates, and each has its share of them.
    EXPECT_EQ(std::count(split.parts.begin(), split.parts.end(), SplitPart::kEvaluate), 40);
    EXPECT_EQ(std::count(split.parts.begin(), split.parts.end(), SplitPart::kTest), 40);
    EXPECT_EQ(shared,
              (std::map<SplitPart, int>{
                  {SplitPart::kTrain, 36}, {SplitPart::kEvaluate, 12}, {SplitPart::kTest, 12}}));
  }
}

// Otherwise the test would be about one text.
TEST(Split, ATextThatIsRepeatedOftenIsTrainedOn) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto rows = rows_of({{"no", 560}, {"yes", 560}});
    for (std::size_t row = 0; row < 120; ++row) {
      rows[row].content = row < 80 ? 5'001 : 5'002;
    }
    rows[200].content = rows[201].content = 5'003;  // a pair may be anywhere
    const auto split = assign_split(rows, {.evaluate = 0.1, .test = 0.1}, seed);
    for (std::size_t row = 0; row < 120; ++row) {
      EXPECT_EQ(split.parts[row], SplitPart::kTrain) << row;
    }
    EXPECT_EQ(split.parts[200], split.parts[201]);
    EXPECT_EQ(std::count(split.parts.begin(), split.parts.end(), SplitPart::kTest), 112);
  }
}

TEST(Split, GroupsStayTogetherAndALargeOneIsTrainedOn) {
  auto rows = rows_of({{"a", 150}, {"b", 150}});
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row].group = row < 100 ? 1 : 2 + row / 5;  // one large group, and of five rows
  }
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto split = assign_split(rows, {.evaluate = 0.1, .test = 0.2, .group = "id"}, seed);
    std::map<uint64_t, std::set<SplitPart>> parts;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      parts[rows[row].group].insert(split.parts[row]);
    }
    for (const auto& [group, found] : parts) {
      EXPECT_EQ(found.size(), 1U) << group;
    }
    EXPECT_EQ(split.parts[0], SplitPart::kTrain);
    EXPECT_EQ(std::count(split.parts.begin(), split.parts.end(), SplitPart::kEvaluate), 30);
    EXPECT_EQ(std::count(split.parts.begin(), split.parts.end(), SplitPart::kTest), 60);
  }
}

TEST(Split, AClassWithOneRowIsTrainedOnAndAbsentClassesAreNamed) {
  const auto rows = rows_of({{"a", 40}, {"b", 3}, {"c", 1}, {"d", 1}});
  const auto split = assign_split(rows, {.evaluate = 4}, 1);
  EXPECT_EQ(counts_of(rows, split, SplitPart::kTrain)["c"], 1);
  EXPECT_EQ(counts_of(rows, split, SplitPart::kTrain)["d"], 1);
  EXPECT_EQ(split.remarks, (std::vector<std::string>{
                               "split: classes with a single row, which is used for training: "
                               "'c', 'd'",
                               "split: no rows of these classes in evaluate: 'b'"}));
}

TEST(Split, RowsWithoutALabelAreInNoPart) {
  auto rows = rows_of({{"a", 10}});
  rows[3].is_dropped = true;
  const auto split = assign_split(rows, {.test = 0.5}, 1);
  EXPECT_EQ(split.parts[3], SplitPart::kNone);
  EXPECT_EQ(std::count(split.parts.begin(), split.parts.end(), SplitPart::kTrain), 4);
}

TEST(Split, RefusesPartsWithoutRows) {
  const auto message = [](const std::vector<SplitRow>& rows, const SplitOptions& options) {
    return test::message_of<Error>([&] { assign_split(rows, options, 1); });
  };
  auto rows = rows_of({{"a", 12}});
  EXPECT_EQ(message(rows, {.evaluate = 0.01}),
            "data.split.evaluate: 0.01 of 12 rows is less than one row, must be a larger fraction "
            "or a number of rows");
  EXPECT_EQ(message(rows, {.evaluate = 7, .test = 0.4}),
            "data.split: 7 rows to evaluate and 5 to test, but the training data have 12: no rows "
            "would be left for training");
  EXPECT_EQ(message(rows_of({{"a", 1}, {"b", 1}, {"c", 1}}), {.test = 1}),
            "data.split: too few rows per class to have some in each part, set stratify: false");
  for (auto& row : rows) {
    row.group = 5;
  }
  EXPECT_EQ(message(rows, {.test = 3, .group = "patient"}),
            "data.split: no rows are left for test, as groups of patient stay together");
}

}  // namespace
}  // namespace weft::data
