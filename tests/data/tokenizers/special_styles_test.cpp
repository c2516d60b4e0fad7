#include <gtest/gtest.h>

#include "base/string_util.h"
#include "data/error.h"
#include "data/tokenizer_options.h"
#include "formats/json.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using TokenIds = std::vector<int32_t>;

std::shared_ptr<const Tokenizer> train_special_styles(const TokenizerOptions& options,
                                                      TokenizerTemplate style,
                                                      const std::vector<std::string>& texts) {
  TokenizerReport report;
  return train_tokenizer(
      options, style, 1,
      [&](const TextVisitor& visit) {
        for (const std::string& line : texts) {
          visit(line);
        }
      },
      report);
}

std::shared_ptr<const Tokenizer> characters(int64_t size, const std::vector<std::string>& texts) {
  TokenizerOptions options;
  options.type = TokenizerType::kCharacters;
  options.vocab_size = size;
  return train_special_styles(options, TokenizerTemplate::kGpt2, texts);
}

TokenIds ids_of(const Tokenizer& tokenizer, std::string_view line) {
  TokenIds ids;
  tokenizer.encode(line, ids);
  return ids;
}

TEST(CharacterTokenizer, GivesEachCharacterItsOwnIdInOrder) {
  const auto tokenizer = characters(100, {"ba\nü c", "ab"});
  EXPECT_EQ(tokenizer->size(), 7);  // end of text, line feed, space, a, b, c, ü
  EXPECT_EQ(ids_of(*tokenizer, "a b\nü"), (TokenIds{3, 2, 4, 1, 6}));
  EXPECT_EQ(tokenizer->decode({3, 2, 4, 1, 6}), "a b\nü");
  EXPECT_EQ(ids_of(*tokenizer, "az<|endoftext|>"), (TokenIds{3, 0, 0}));  // z is unknown
  EXPECT_EQ(tokenizer->special_token_ids().eos, 0);
  EXPECT_EQ(tokenizer->num_special_tokens_to_add(false), 0);
}

TEST(CharacterTokenizer, KeepsTheMostFrequentWhereThereAreTooMany) {
  const auto tokenizer = characters(16, {"aaaabbbccd" + std::string("0123456789efghijk")});
  EXPECT_EQ(tokenizer->size(), 16);
  EXPECT_EQ(ids_of(*tokenizer, "k"), TokenIds{0});
  EXPECT_NE(ids_of(*tokenizer, "d"), TokenIds{0});
}

TEST(CharacterTokenizer, SavesWhatLoadsToTheSameIds) {
  const auto tokenizer = characters(100, {"First Citizen:\nBefore we"});
  const test::Folder folder;
  tokenizer->save(folder.path(), 64);
  const auto loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->fingerprint(), tokenizer->fingerprint());
  EXPECT_EQ(ids_of(*loaded, "we\n be"), ids_of(*tokenizer, "we\n be"));
}

std::vector<std::string> words() {
  std::vector<std::string> lines;
  for (int i = 0; i < 400; ++i) {
    lines.push_back(str_cat("line ", i * 7919 % 1000, " tells of a fox and ", i, " hens"));
  }
  return lines;
}

TEST(SentinelStyle, SentinelsCountDownFromTheLastId) {
  for (const auto type :
       {TokenizerType::kUnigram, TokenizerType::kWordPiece, TokenizerType::kBpe}) {
    TokenizerOptions options;
    options.type = type;
    options.vocab_size = 180;
    const auto tokenizer = train_special_styles(options, TokenizerTemplate::kT5, words());
    EXPECT_EQ(tokenizer->size(), 180);
    EXPECT_EQ(tokenizer->id("<extra_id_0>"), 179);
    EXPECT_EQ(tokenizer->id("<extra_id_99>"), 80);
    EXPECT_TRUE(tokenizer->is_special(120));
    EXPECT_EQ(tokenizer->special_token_ids().pad, 0);
    EXPECT_EQ(tokenizer->special_token_ids().eos, 1);
    EXPECT_EQ(tokenizer->special_token_ids().unk, 2);
    EXPECT_EQ(tokenizer->sequence(TokenIds{10, 11}).ids, (TokenIds{10, 11, 1}));
    const test::Folder folder;
    tokenizer->save(folder.path(), 64);
    EXPECT_EQ(load_tokenizer(folder.path())->fingerprint(), tokenizer->fingerprint());
  }
}

TEST(SentinelStyle, ByteLevelPiecesComeAfterThem) {
  TokenizerOptions options;
  options.type = TokenizerType::kByteLevelBpe;
  options.vocab_size = 400;
  const auto tokenizer = train_special_styles(options, TokenizerTemplate::kT5, words());
  EXPECT_EQ(tokenizer->size(), 400);
  EXPECT_EQ(*tokenizer->id("<extra_id_0>"), *tokenizer->id("<extra_id_1>") + 1);
}

TEST(XlmStyle, EachTextIsFollowedByASeparator) {
  for (const auto type : {TokenizerType::kUnigram, TokenizerType::kWordPiece, TokenizerType::kBpe,
                          TokenizerType::kByteLevelBpe}) {
    TokenizerOptions options;
    options.type = type;
    options.vocab_size = type == TokenizerType::kByteLevelBpe ? 280 : 80;
    const auto tokenizer = train_special_styles(options, TokenizerTemplate::kXlm, words());
    EXPECT_EQ(tokenizer->size(), options.vocab_size);
    EXPECT_EQ(tokenizer->sequence(TokenIds{10}).ids, (TokenIds{0, 10, 1}));
    EXPECT_EQ(tokenizer->sequence(TokenIds{10}, TokenIds{11}).ids, (TokenIds{0, 10, 1, 11, 1}));
    EXPECT_EQ(tokenizer->special_token_ids().pad, 2);
    EXPECT_EQ(tokenizer->special_token_ids().unk, 3);
    EXPECT_EQ(tokenizer->piece(static_cast<int32_t>(tokenizer->special_token_ids().mask)),
              "<special1>");
    const test::Folder folder;
    tokenizer->save(folder.path(), 64);
    EXPECT_EQ(load_tokenizer(folder.path())->fingerprint(), tokenizer->fingerprint());
  }
}

TokenizerOptions mbart_options() {
  TokenizerOptions options;
  options.type = TokenizerType::kUnigram;
  options.vocab_size = 110;
  options.normalization = "identity";
  options.languages = {.source = "en_XX", .target = "<la>", .others = {"de_DE", "<la>", "<cy>"}};
  return options;
}

TEST(MbartStyle, TheLanguageFollowsEachText) {
  const auto tokenizer = train_special_styles(mbart_options(), TokenizerTemplate::kMbart, words());
  EXPECT_EQ(tokenizer->size(), 110);
  // After the pieces: the 25 codes of the published models, those of the options, the mask.
  EXPECT_EQ(tokenizer->id("ar_AR"), 110 - 1 - 2 - 25);
  EXPECT_EQ(tokenizer->id("zh_CN"), 106);
  EXPECT_EQ(tokenizer->id("<la>"), 107);
  EXPECT_EQ(tokenizer->id("<cy>"), 108);
  EXPECT_EQ(tokenizer->special_token_ids().mask, 109);
  const int32_t english = tokenizer->id("en_XX").value();
  EXPECT_TRUE(tokenizer->is_special(english));
  EXPECT_EQ(tokenizer->sequence(TokenIds{10}).ids, (TokenIds{10, 2, english}));
  EXPECT_EQ(tokenizer->sequence(TokenIds{10}, TokenIds{11}).ids, (TokenIds{10, 11, 2, english}));
  EXPECT_EQ(tokenizer->target().sequence(TokenIds{10}).ids, (TokenIds{10, 2, 107}));
  EXPECT_FALSE(tokenizer->has_separate_vocabularies());
  const test::Folder folder;
  tokenizer->save(folder.path(), 64);
  const auto loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->fingerprint(), tokenizer->fingerprint());
  EXPECT_EQ(loaded->target().sequence(TokenIds{10}).ids, (TokenIds{10, 2, 107}));
  EXPECT_EQ(ids_of(*loaded, "a fox<la> and <mask>"), ids_of(*tokenizer, "a fox<la> and <mask>"));
}

TEST(MbartStyle, WithoutATargetLanguageBothSidesAreOne) {
  auto options = mbart_options();
  options.languages.target.clear();
  const auto tokenizer = train_special_styles(options, TokenizerTemplate::kMbart, words());
  EXPECT_EQ(&tokenizer->target(), tokenizer.get());
}

TEST(MbartStyle, RefusesWhatItsClassDoesNotKnow) {
  const auto message = [](const TokenizerOptions& options) {
    return test::message_of<Error>(
        [&] { train_special_styles(options, TokenizerTemplate::kMbart, words()); });
  };
  auto options = mbart_options();
  options.normalization = "nfkc";
  EXPECT_EQ(message(options),
            "tokenizer.normalization: nfkc, must be identity for mbart: its tokenizer class in "
            "transformers has no normalization rules");
  options = mbart_options();
  options.type = TokenizerType::kBpe;
  EXPECT_EQ(message(options),
            "tokenizer.type: must be unigram without byte_fallback for mbart: its tokenizer class "
            "in transformers supports no other");
  options = mbart_options();
  options.languages.others = {"en"};
  EXPECT_EQ(message(options),
            "language: 'en' cannot be a language token because it would also match inside words; "
            "mbart language codes look like en_XX");
}

TEST(EndingStyle, OnlyTheEndTokenIsAddedToAText) {
  TokenizerOptions options;
  options.type = TokenizerType::kUnigram;
  options.vocab_size = 80;
  const auto tokenizer = train_special_styles(options, TokenizerTemplate::kEosOnly, words());
  EXPECT_EQ(tokenizer->size(), 80);
  EXPECT_FALSE(tokenizer->id("<extra_id_0>"));
  EXPECT_EQ(tokenizer->sequence(TokenIds{10}).ids, (TokenIds{10, 1}));
}

}  // namespace
}  // namespace weft::data
