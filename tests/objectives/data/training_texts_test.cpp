#include "objectives/data/training_texts.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::objectives {
namespace {

data::DataItem item(const std::string& language, const std::string& target_language) {
  data::DataItem made;
  made.language = language;
  made.target_language = target_language;
  return made;
}

TEST(LanguageCodes, AreTheLanguagesOfTheItems) {
  data::DataOptions options;
  options.train = {item("de_DE", "fr_XX"), item("cs_CZ", "fr_XX")};
  const auto codes = language_codes_of(options);
  EXPECT_EQ(codes.source, "de_DE");
  EXPECT_EQ(codes.target, "fr_XX");
  EXPECT_EQ(std::count(codes.others.begin(), codes.others.end(), "cs_CZ"), 1);
}

TEST(LanguageCodes, SeveralTargetsAreNone) {
  data::DataOptions options;
  options.train = {item("de_DE", "fr_XX"), item("fr_XX", "de_DE")};
  EXPECT_EQ(language_codes_of(options).target, "");
}

TEST(LanguageCodes, TheObjectiveSpeaksForItemsThatNameNone) {
  data::DataOptions options;
  options.train = {item("", "")};
  EXPECT_EQ(language_codes_of(options, "en_XX", "de_DE").target, "de_DE");
  options.train.push_back(item("ro_RO", "de_DE"));
  const auto codes = language_codes_of(options, "en_XX", "de_DE");
  EXPECT_EQ(codes.source, "en_XX");
  EXPECT_EQ(codes.target, "de_DE");
  EXPECT_EQ(std::count(codes.others.begin(), codes.others.end(), "ro_RO"), 1);
}

TEST(LanguageCodes, UnnamedSourcesAreEnglish) {
  EXPECT_EQ(language_codes_of({}).source, "en_XX");
  EXPECT_EQ(language_codes_of({}).target, "");
}

}  // namespace
}  // namespace weft::objectives
