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

TEST(Labels, KnownClassesAreReplacedOnlyByOthers) {
  using Names = std::vector<std::string>;
  const Names known = {"spam", "ham"};
  EXPECT_EQ(choose_labels(known, {"ham", "spam"}, true), known);
  EXPECT_EQ(choose_labels(known, {"ham"}, true), known);
  EXPECT_EQ(choose_labels(known, {"eggs", "ham"}, true), (Names{"eggs", "ham"}));
  EXPECT_EQ(choose_labels(known, {"eggs", "ham"}, false), known);
  EXPECT_EQ(choose_labels({}, {"eggs", "ham"}, false), (Names{"eggs", "ham"}));
  EXPECT_EQ(choose_labels({"LABEL_0", "LABEL_1"}, {"0", "1"}, true), (Names{"LABEL_0", "LABEL_1"}));
}

}  // namespace
}  // namespace weft::data
