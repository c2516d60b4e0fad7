#include "data/translation_dataset.h"

#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

class TranslationDatasetTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Dataset> make(const std::string& rows,
                                      int64_t length,
                                      Overflow overflow = Overflow::kCut) {
    DataItem item;
    item.path = "pairs.tsv";
    item.files = {folder_.write("pairs.tsv", "source\ttarget\n" + rows)};
    DataOptions options;
    options.cache = folder_.path("cache");
    options.overflow = overflow;
    return make_translation_dataset({item}, options, {.length = length, .mask = MaskOptions{}},
                                    test::ToyTokenizer({}, 1000));
  }

  test::Folder folder_;
};

TEST_F(TranslationDatasetTest, BothTextsStandInOneSequenceWithMasksInBoth) {
  const auto dataset = make("a b c d\te f g h i j\n", 30);
  ASSERT_EQ(dataset->size(0), 1);
  std::set<bool> sides;
  Ids whole;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    Example example = dataset->example(epoch, 0);
    EXPECT_EQ(dataset->length(epoch, 0), 13);
    EXPECT_EQ(example.types, (Ids{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
    ASSERT_EQ(example.targets.size(), 2U);  // 15 % of ten
    for (std::size_t i = 0; i < 2; ++i) {
      const auto place = static_cast<std::size_t>(example.target_positions[i]);
      sides.insert(place < 6);
      example.ids[place] = example.targets[i];
    }
    EXPECT_EQ(example.ids[5], 3);
    EXPECT_TRUE(whole.empty() || example.ids == whole);
    whole = example.ids;
  }
  EXPECT_EQ(sides.size(), 2U);
}

TEST_F(TranslationDatasetTest, EmptySidesAndLongPairsAreCounted) {
  const auto cut = make("a b c d e\tf\n\tg\nh\ti\n", 6);
  EXPECT_EQ(cut->size(0), 2);
  EXPECT_EQ(cut->length(0, 0), 6);
  EXPECT_EQ(cut->remarks(),
            (std::vector<std::string>{"pairs.tsv: 1 pairs with an empty side were left out",
                                      "pairs.tsv: 1 pairs longer than 6 tokens were cut"}));
  EXPECT_EQ(make("a b c d e\tf\nh\ti\n", 6, Overflow::kDrop)->size(0), 1);
  EXPECT_NE(cut->fingerprint(), make("a b c d e\tf\n\tg\nh\ti\n", 7)->fingerprint());
}

TEST_F(TranslationDatasetTest, SplittingIsNothingForPairs) {
  EXPECT_EQ(test::message_of<Error>([&] { make("a\tb\n", 6, Overflow::kSplit); }),
            "data.overflow: split is for running text, of pairs of texts must be cut or drop");
}

}  // namespace
}  // namespace weft::data
