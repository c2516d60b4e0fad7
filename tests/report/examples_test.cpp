#include "report/examples.h"

#include <numeric>

#include <gtest/gtest.h>

namespace weft::report {
namespace {

/// Documents of three sentences of four tokens.
class Documents : public data::Dataset {
 public:
  int64_t size(int64_t /*epoch*/) const override { return 3; }
  int64_t length(int64_t /*epoch*/, int64_t /*item*/) const override { return 12; }
  data::Example example(int64_t /*epoch*/, int64_t item) const override {
    data::Example made;
    made.ids.resize(12);
    std::iota(made.ids.begin(), made.ids.end(), item);
    made.sentence_lengths = {4, 4, 4};
    made.target_positions = {3, 7, 11};
    made.targets = {0, 1, 0};
    return made;
  }
  std::string location(int64_t /*epoch*/, int64_t item) const override {
    return std::to_string(item);
  }
  uint64_t fingerprint() const override { return 1; }
};

TEST(ShortExamples, LongerDocumentsAreCutWithTheirSentencesAndTargets) {
  const auto examples = short_examples(Documents(), 2, 6);
  ASSERT_EQ(examples.size(), 2U);
  for (const auto& example : examples) {
    EXPECT_EQ(example.ids.size(), 6U);
    EXPECT_EQ(example.sentence_lengths, (std::vector<int64_t>{4, 2}));
    EXPECT_EQ(example.targets, std::vector<int64_t>{0});
    EXPECT_EQ(batch_of(example).tokens(), 6);
  }
  EXPECT_EQ(short_examples(Documents(), 1, 12)[0].sentence_lengths,
            (std::vector<int64_t>{4, 4, 4}));
}

}  // namespace
}  // namespace weft::report
