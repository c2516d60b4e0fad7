#include "objectives/options.h"

#include <gtest/gtest.h>

#include "models/config/presets.h"
#include "support/config.h"

namespace weft::objectives {
namespace {

using OptionsKeys = std::vector<std::pair<std::string, std::string>>;

ObjectiveOptions read_options(const OptionsKeys& keys) {
  auto section = test::section("objective", keys);
  return read_objective_options(section);
}

std::string message(const OptionsKeys& keys) {
  return test::message_of<config::Error>([&] { read_options(keys); });
}

TEST(ObjectiveOptions, MlmReadsItsKeys) {
  const auto options = read_options({{"type", "mlm"},
                                     {"mask_fraction", "0.3"},
                                     {"mask_unit", "span"},
                                     {"max_span", "7"},
                                     {"static_masking", "true"},
                                     {"next_sentence", "true"}});
  EXPECT_EQ(options.mask.fraction, 0.3);
  EXPECT_EQ(options.mask.unit, data::MaskUnit::kSpan);
  EXPECT_EQ(options.mask.max_span, 7);
  EXPECT_TRUE(options.mask.is_static);
  EXPECT_EQ(options.pair, data::PairTask::kNextSentence);
}

TEST(ObjectiveOptions, TagReadsWhichPiecesAreLabelled) {
  EXPECT_EQ(read_options({{"type", "tag"}}).label_all_tokens, false);
  const auto options = read_options({{"type", "tag"}, {"label_all_tokens", "true"}});
  EXPECT_EQ(options.type, ObjectiveType::kTag);
  EXPECT_TRUE(options.label_all_tokens);
  EXPECT_NE(message({{"type", "classify"}, {"label_all_tokens", "true"}})
                .find("objective.label_all_tokens: belongs to objectives of type tag"),
            std::string::npos);
  EXPECT_NE(message({{"type", "tag"}, {"label_all_tokens", "last"}}).find("is not true or false"),
            std::string::npos);
}

TEST(ObjectiveOptions, KeysOfAnotherTypeAreRefusedByName) {
  EXPECT_EQ(message({{"type", "classify"}, {"mask_fraction", "0.1"}}),
            "test.yaml:1:44: objective.mask_fraction: belongs to objectives of type mlm, this one "
            "is classify");
  EXPECT_NE(message({{"type", "mlm"}, {"label_smoothing", "0.1"}})
                .find("objective.label_smoothing: belongs to"),
            std::string::npos);
}

TEST(ObjectiveOptions, ProbabilitiesSumToAtMostOne) {
  EXPECT_NE(message({{"type", "mlm"}, {"mask_token_prob", "0.9"}, {"random_token_prob", "0.2"}})
                .find("objective.random_token_prob"),
            std::string::npos);
  EXPECT_EQ(
      read_options({{"type", "mlm"}, {"mask_token_prob", "0.9"}, {"random_token_prob", "0.1"}})
          .mask.random_token_prob,
      0.1);
}

TEST(ObjectiveOptions, AtMostOnePairTask) {
  EXPECT_NE(message({{"type", "mlm"}, {"next_sentence", "true"}, {"sentence_order", "true"}})
                .find("objective.sentence_order"),
            std::string::npos);
}

TEST(ObjectiveOptions, FractionsOutOfRangeAndUnknownTypesAreRefused) {
  EXPECT_NE(message({{"type", "mlm"}, {"mask_fraction", "15"}}).find("objective.mask_fraction"),
            std::string::npos);
  EXPECT_NE(message({{"type", "mml"}}).find("mlm"), std::string::npos);
  EXPECT_NE(message({}).find("objective"), std::string::npos);
}

TEST(ObjectiveOptions, PairsNeedAFamilyThatHasTheirHead) {
  const auto options = read_options({{"type", "mlm"}, {"next_sentence", "true"}});
  EXPECT_FALSE(incompatibility(options, models::family_defaults(models::Family::kBert)));
  const auto wrong = incompatibility(options, models::family_defaults(models::Family::kRoberta));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->key, "next_sentence");
}

}  // namespace
}  // namespace weft::objectives
