#include <gtest/gtest.h>

#include "report/page/page.h"

namespace weft::report {
namespace {

/// Inserted words in brackets with +, deleted ones with -.
std::string shown(const std::string& reference, const std::string& text) {
  std::string result;
  for (const auto& span : word_differences(reference, text)) {
    result += span.kind == TextSpan::Kind::kInserted  ? "[+" + span.text + "]"
              : span.kind == TextSpan::Kind::kDeleted ? "[-" + span.text + "]"
                                                      : span.text;
  }
  return result;
}

TEST(WordDifferences, MarksInsertedAndDeletedWords) {
  EXPECT_EQ(shown("a dog runs", "a dog runs"), "a dog runs ");
  EXPECT_EQ(shown("a dog runs fast", "a cat runs"), "a [-dog] [+cat] runs [-fast] ");
  EXPECT_EQ(shown("", "new text"), "[+new] [+text] ");
  EXPECT_EQ(shown("old", ""), "[-old] ");
}

}  // namespace
}  // namespace weft::report
