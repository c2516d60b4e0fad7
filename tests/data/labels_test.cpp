#include "data/labels.h"

#include <gtest/gtest.h>

namespace weft::data {
namespace {

TEST(Labels, ClassesWithoutNamesAreFoundByTheirNumbers) {
  const Labels nameless({"LABEL_0", "LABEL_1"});
  EXPECT_EQ(nameless.find("1"), 1);
  EXPECT_EQ(nameless.find("LABEL_1"), 1);
  EXPECT_EQ(nameless.find("2"), std::nullopt);
  const Labels named({"LABEL_0", "spam"});
  EXPECT_EQ(named.find("1"), std::nullopt);
}

}  // namespace
}  // namespace weft::data
