#include "base/format_columns.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Columns, AreSeparatedByTwoSpaces) {
  EXPECT_EQ(format_columns({{"task", "items"}, {"a", "12345"}, {"longer", "-"}}),
            "task    items\n"
            "a       12345\n"
            "longer      -\n");
  EXPECT_EQ(format_columns({}), "");
}

TEST(Columns, RowsMayBeShort) { EXPECT_EQ(format_columns({{"a", "b"}, {"cd"}}), "a   b\ncd\n"); }

}  // namespace
}  // namespace weft
