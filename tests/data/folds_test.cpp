#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "data/row_selection.h"

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

}  // namespace
}  // namespace weft::data
