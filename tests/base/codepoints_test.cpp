#include "base/codepoints.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Codepoints, WhiteSpaceAtTheEndsIsCountedInBytes) {
  EXPECT_EQ(leading_white_space(""), 0U);
  EXPECT_EQ(trailing_white_space(""), 0U);
  EXPECT_EQ(leading_white_space(" \t\u00A0a "), 4U);
  EXPECT_EQ(trailing_white_space(" é\u2003 "), 4U);
  EXPECT_EQ(trailing_white_space("é"), 0U);
  EXPECT_EQ(leading_white_space(" \u3000"), 4U);
  EXPECT_EQ(trailing_white_space(" \u3000"), 4U);
}

}  // namespace
}  // namespace weft
