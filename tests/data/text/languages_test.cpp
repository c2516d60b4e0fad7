#include "data/text/languages.h"

#include <gtest/gtest.h>

#include "data/error.h"
#include "support/config.h"

namespace weft::data {
namespace {

const std::vector<std::string> kKnown = {"de", "en"};

TEST(Languages, IdsAreThePlacesOfTheNames) {
  EXPECT_EQ(language_id("en", kKnown, "x.txt"), 1);
  EXPECT_EQ(language_id("", {}, "x.txt"), std::nullopt);
  EXPECT_EQ(language_id("sw", {}, "x.txt"), std::nullopt);  // the model has no languages
}

TEST(Languages, WhatTheModelDoesNotKnowIsRefused) {
  EXPECT_EQ(test::message_of<Error>([] { language_id("sw", kKnown, "x.txt", "target_language"); }),
            "x.txt: target_language: 'sw', must be one of the model's languages: de, en");
  EXPECT_EQ(test::message_of<Error>([] { language_id("", kKnown, "x.txt"); }),
            "x.txt: language: missing, must be one of the model's languages: de, en");
}

TEST(Languages, AllTokensOfATextHaveOneLanguage) {
  Example example;
  example.ids = {2, 7, 3};
  set_language(example, 1);
  EXPECT_EQ(example.token_type_ids, (std::vector<int64_t>{1, 1, 1}));
}

}  // namespace
}  // namespace weft::data
