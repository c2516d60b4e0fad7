#include "inference/shortlist.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/tiny_translator.h"
#include "config/section.h"
#include "inference/generate.h"
#include "models/directory.h"
#include "objectives/tiny_gpt.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::inference {
namespace {

using models::Tokens;

/// Five special tokens, then a to j with the ids 5 to 14.
std::shared_ptr<const data::Tokenizer> letters() {
  return std::make_shared<test::ToyTokenizer>(
      std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
}

class ShortlistTest : public ::testing::Test {
 protected:
  std::string file(const std::string& lines) const { return work_.write("lex.s2t", lines); }
  Tokens tokens(const ShortlistOptions& options, const Tokens& source) const {
    const auto found = Shortlist(options, *letters(), {}).tokens(source);
    return {found.begin() + 5, found.end()};  // without the special tokens
  }
  std::string error_of(const std::string& lines) const {
    const auto path = file(lines);
    const auto message =
        test::message_of<UserError>([&] { Shortlist({.file = path}, *letters(), {}); });
    return message.substr(message.find("lex.s2t"));
  }

  test::Folder work_;
};

TEST_F(ShortlistTest, HasTheBestTranslationsTheFirstTokensAndTheSource) {
  const auto path = file("f a 0.2\ng a 0.5\nh a 0.3\nj b 1\nNULL a 0.9\ni NULL 0.9\n");
  EXPECT_EQ(tokens({.file = path, .first = 0, .best = 2}, {5}), Tokens({5, 11, 12}));
  EXPECT_EQ(tokens({.file = path, .first = 0, .best = 5}, {5}), Tokens({5, 10, 11, 12}));
  EXPECT_EQ(tokens({.file = path, .first = 0, .best = 1}, {6, 5, 6}), Tokens({5, 6, 11, 14}));
  EXPECT_EQ(tokens({.file = path, .first = 3, .best = 1}, {13}), Tokens({5, 6, 7, 13}));
  EXPECT_EQ(tokens({.file = path, .first = 100, .best = 1}, {}).size(), 10U);
}

TEST_F(ShortlistTest, HasAllSpecialAndRequiredTokens) {
  const Shortlist shortlist({.file = file("f a 0.2\n"), .first = 0, .best = 1}, *letters(),
                            {12, 3});
  EXPECT_EQ(shortlist.tokens({6}), Tokens({0, 1, 2, 3, 4, 6, 12}));
}

TEST_F(ShortlistTest, BlanksMayBeTabsAndProbabilitiesSmall) {
  const auto path = file("f\ta\t1e-30\n g   a  0 \n");
  EXPECT_EQ(tokens({.file = path, .first = 0}, {5}), Tokens({5, 10}));  // one is impossible
}

TEST_F(ShortlistTest, ErrorsNameTheLine) {
  const std::string form = ", must be TARGET SOURCE PROBABILITY, with a probability in [0, 1]";
  EXPECT_EQ(error_of("f a 0.5\nf a\n"), "lex.s2t:2: 'f a'" + form);
  EXPECT_EQ(error_of("f a 0.5 x\n"), "lex.s2t:1: 'f a 0.5 x'" + form);
  EXPECT_EQ(error_of("f a 1.5\n"), "lex.s2t:1: 'f a 1.5'" + form);
  EXPECT_EQ(error_of("f a nan\n"), "lex.s2t:1: 'f a nan'" + form);
  EXPECT_EQ(error_of("\n"), "lex.s2t:1: ''" + form);
  const std::string pieces =
      " is not one of the 15 pieces of the model's tokenizer, which the table must consist of "
      "(`weft data shortlist` makes one)";
  EXPECT_EQ(error_of("f a 0.5\nf zebra 0.5\n"), "lex.s2t:2: source 'zebra'" + pieces);
  EXPECT_EQ(error_of("zebra a 0.5\n"), "lex.s2t:1: target 'zebra'" + pieces);
  EXPECT_EQ(error_of(""),
            "lex.s2t: has no translations, must have lines TARGET SOURCE PROBABILITY");
  EXPECT_EQ(error_of("NULL a 1\n"),
            "lex.s2t: has no translations, must have lines TARGET SOURCE PROBABILITY");
}

TEST(ShortlistOptions, AreAFileOrAMapping) {
  const auto plain = read_shortlist_options("lex.s2t", "--shortlist");
  EXPECT_EQ(plain.file, "lex.s2t");
  EXPECT_EQ(plain.first, 100);
  EXPECT_EQ(plain.best, 100);
  const auto mapping =
      read_shortlist_options("{file: 'a b.s2t', first: 0, best: 50}", "--shortlist");
  EXPECT_EQ(mapping.file, "a b.s2t");
  EXPECT_EQ(mapping.first, 0);
  EXPECT_EQ(mapping.best, 50);
  const auto refusal = [](const std::string& text) {
    return test::message_of<config::Error>([&] { read_shortlist_options(text, "--shortlist"); });
  };
  EXPECT_NE(refusal("{file: a, best: 0}").find("best: 0"), std::string::npos);
  EXPECT_NE(refusal("{first: 3}").find("file"), std::string::npos);
  EXPECT_NE(refusal("{file: a, fist: 3}").find("first"), std::string::npos);
}

class ShortlistedTexts : public ShortlistTest {
 protected:
  std::vector<GenerationResult> answers(const std::optional<ShortlistOptions>& shortlist,
                                        int64_t batch_size) const {
    GenerationSettings settings;
    settings.config.max_new_tokens = 12;
    settings.config.decoder_start_id = 2;
    settings.config.search.eos_ids = {3};
    settings.config.search.num_beams = 3;
    settings.batch_size = batch_size;
    settings.shortlist = shortlist;
    auto options = test::tiny_translator_options(models::family_named("bart"), 15);
    options.eos_id = 3;
    const auto model = models::make_model(options, 3);
    return TextGenerator(*model, letters(), settings)
        .generate({{.prompt = "a b"}, {.prompt = "c"}, {.prompt = "b j d a"}}, 0);
  }
};

TEST_F(ShortlistedTexts, HaveOnlyListedTokens) {
  const ShortlistOptions options{.file = file("f a 0.9\ng b 0.8\nh c 1\n"), .first = 0};
  const auto found = answers(options, 64);
  const Shortlist shortlist(options, *letters(), {3});
  const std::vector<Tokens> sources = {{2, 5, 6, 3}, {2, 7, 3}, {2, 6, 14, 8, 5, 3}};
  const auto free = answers({}, 64);
  bool differs = false;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto allowed = shortlist.tokens(sources[i]);
    for (const auto id : found[i].texts[0].ids) {
      EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), id)) << i << " " << id;
    }
    differs = differs || found[i].texts[0].ids != free[i].texts[0].ids;
  }
  EXPECT_TRUE(differs);
  const auto alone = answers(options, 1);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(alone[i].texts[0].ids, found[i].texts[0].ids);
    EXPECT_NEAR(alone[i].texts[0].score, found[i].texts[0].score, 1e-5);
  }
}

TEST_F(ShortlistedTexts, OfTheWholeVocabularyAreTheSame) {
  const auto found = answers(ShortlistOptions{.file = file("f a 1\n"), .first = 10}, 64);
  const auto free = answers({}, 64);
  for (std::size_t i = 0; i < free.size(); ++i) {
    EXPECT_EQ(found[i].texts[0].ids, free[i].texts[0].ids);
    EXPECT_EQ(found[i].texts[0].score, free[i].texts[0].score);
  }
}

TEST_F(ShortlistTest, NeedsASourceAndATokenizer) {
  GenerationSettings settings;
  settings.shortlist = ShortlistOptions{.file = file("f a 1\n")};
  const auto decoder = test::tiny_gpt();
  EXPECT_EQ(test::message_of<UserError>([&] { TextGenerator(*decoder, letters(), settings); }),
            "GPT2LMHeadModel: reads no source that a shortlist could have translations of, must be "
            "an encoder-decoder");
  settings.decodes_text = false;
  const auto translator =
      models::make_model(test::tiny_translator_options(models::family_named("bart"), 15), 3);
  EXPECT_EQ(test::message_of<UserError>([&] { TextGenerator(*translator, nullptr, settings); }),
            "a shortlist needs a tokenizer");
}

}  // namespace
}  // namespace weft::inference
