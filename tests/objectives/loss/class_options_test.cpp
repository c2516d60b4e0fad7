#include "objectives/loss/class_options.h"

#include <gtest/gtest.h>

#include "support/config.h"

namespace weft::objectives {
namespace {

using ClassOptionsKeys = std::vector<std::pair<std::string, std::string>>;

ClassOptions read_class_keys(const ClassOptionsKeys& keys) {
  auto section = test::section("objective", keys);
  return read_class_options(section);
}

std::string mistake(const ClassOptionsKeys& keys) {
  return test::message_of<config::Error>([&] { read_class_keys(keys); });
}

TEST(ClassOptions, ReadTheirKeys) {
  const auto options = read_class_keys({{"multi_label", "true"},
                                        {"class_weights", "{a: 2}"},
                                        {"focal_gamma", "2"},
                                        {"tune_threshold", "matthews_correlation"}});
  EXPECT_TRUE(options.multi_label);
  EXPECT_EQ(options.class_weights.numbers.front().second, 2);
  EXPECT_EQ(options.focal_gamma, 2);
  EXPECT_EQ(options.tune_threshold, metrics::ThresholdMetric::kMatthews);
  EXPECT_EQ(read_class_keys({{"threshold", "0.3"}}).threshold, 0.3);
  EXPECT_FALSE(read_class_keys({}).threshold);
  EXPECT_FALSE(read_class_keys({}).tune_threshold);
  EXPECT_EQ(read_class_keys({{"positive_label", "1"}}).positive_label, "1");
}

TEST(ClassOptions, RefuseWhatCannotGoTogether) {
  EXPECT_NE(mistake({{"focal_gamma", "2"}, {"label_smoothing", "0.1"}})
                .find("objective.focal_gamma: cannot be combined with label_smoothing"),
            std::string::npos);
  EXPECT_NE(mistake({{"threshold", "0.3"}, {"tune_threshold", "f1"}})
                .find("objective.tune_threshold: cannot be combined with threshold"),
            std::string::npos);
  EXPECT_NE(mistake({{"multi_label", "true"}, {"positive_label", "a"}})
                .find("objective.positive_label: has no effect with multi_label: true"),
            std::string::npos);
  EXPECT_EQ(read_class_keys({{"class_weights", "balanced"}, {"label_smoothing", "0.1"}})
                .class_weights.word,
            "balanced");
}

TEST(ClassOptions, RefuseWhatIsOutOfRange) {
  for (const auto* value : {"0", "1", "-0.5"}) {
    EXPECT_NE(mistake({{"threshold", value}}).find("objective.threshold"), std::string::npos);
  }
  EXPECT_NE(mistake({{"tune_threshold", "recall"}}).find("is not one of none, f1"),
            std::string::npos);
  EXPECT_NE(mistake({{"focal_gamma", "-1"}}).find("objective.focal_gamma"), std::string::npos);
}

}  // namespace
}  // namespace weft::objectives
