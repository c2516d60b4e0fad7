#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "data/tokenizer_options.h"
#include "data/tokenizers/training/text_sample.h"
#include "data/tokenizers/training/trainers.h"
#include "formats/json.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

std::vector<std::string> tokenizer_training_texts() {
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers";
  auto lines = formats::read_json(folder + "/lines.json").get<std::vector<std::string>>();
  lines.resize(13);  // the plain ones
  return lines;
}

std::shared_ptr<const Tokenizer> train_tokenizer_training(const TokenizerOptions& options,
                                                          TokenizerTemplate style,
                                                          TokenizerReport& report) {
  return train_tokenizer(
      options, style, 1,
      [](const TextVisitor& visit) {
        for (const std::string& line : tokenizer_training_texts()) {
          visit(line);
        }
      },
      report);
}

std::vector<int32_t> ids(const Tokenizer& tokenizer, std::string_view line) {
  std::vector<int32_t> found;
  tokenizer.encode(line, found);
  return found;
}

struct TokenizerTrainingKind {
  std::string name;
  TokenizerOptions options;
  TokenizerTemplate style;
};

class TokenizerTraining : public ::testing::TestWithParam<TokenizerTrainingKind> {};

TEST_P(TokenizerTraining, SavesWhatLoadsToTheSameIds) {
  TokenizerReport report;
  const auto trained = train_tokenizer_training(GetParam().options, GetParam().style, report);
  EXPECT_EQ(trained->size(), GetParam().options.vocab_size);
  EXPECT_EQ(report.lines, 13);
  EXPECT_EQ(report.sampled, 13);
  const test::Folder folder;
  trained->save(folder.path(), 128);
  const auto loaded = load_tokenizer(folder.path());
  trained->save(folder.path("run/last"), 128);
  EXPECT_EQ(load_tokenizer(folder.path("run"))->fingerprint(), trained->fingerprint());
  EXPECT_EQ(loaded->size(), trained->size());
  EXPECT_EQ(loaded->fingerprint(), trained->fingerprint());
  for (const std::string& line : tokenizer_training_texts()) {
    EXPECT_EQ(ids(*loaded, line), ids(*trained, line));
  }
  EXPECT_EQ(loaded->special_token_ids().mask, trained->special_token_ids().mask);
  const auto config = formats::read_json(folder.path("tokenizer_config.json"));
  EXPECT_EQ(config["model_max_length"], 128);
}

TEST_P(TokenizerTraining, OrdersSpecialTokensByStyle) {
  TokenizerReport report;
  const auto trained = train_tokenizer_training(GetParam().options, GetParam().style, report);
  const SpecialTokenIds special = trained->special_token_ids();
  const bool is_bert = GetParam().style == TokenizerTemplate::kBert;
  const std::vector<int32_t> found = {special.pad, special.unk, special.cls, special.sep,
                                      special.mask};
  const auto last = static_cast<int32_t>(trained->size()) - 1;
  EXPECT_EQ(found, (is_bert ? std::vector<int32_t>{0, 1, 2, 3, 4}
                            : std::vector<int32_t>{1, 3, 0, 2, last}));
  const Sequence pair = trained->sequence({7}, {8});
  EXPECT_EQ(pair.ids, (is_bert ? std::vector<int32_t>{2, 7, 3, 8, 3}
                               : std::vector<int32_t>{0, 7, 2, 2, 8, 2}));
  EXPECT_EQ(pair.token_type_ids.back(), is_bert ? 1 : 0);
  const std::string mask = trained->piece(special.mask);
  EXPECT_EQ(std::count_if(mask.begin(), mask.end(), [](char c) { return c == 'a' || c == 'A'; }),
            1);
  const std::vector<int32_t> masked = ids(*trained, "the " + mask + " loom");
  EXPECT_EQ(std::count(masked.begin(), masked.end(), special.mask), 1);
}

TEST_P(TokenizerTraining, DoesNotDependOnTheNumberOfThreads) {
  TokenizerReport report;
  const uint64_t whole =
      train_tokenizer_training(GetParam().options, GetParam().style, report)->fingerprint();
  ::setenv("OMP_NUM_THREADS", "1", 1);
  const uint64_t single =
      train_tokenizer_training(GetParam().options, GetParam().style, report)->fingerprint();
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(whole, single);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    TokenizerTraining,
    ::testing::Values(
        TokenizerTrainingKind{"WordPieceBert", {.vocab_size = 250}, TokenizerTemplate::kBert},
        TokenizerTrainingKind{"WordPieceCasedRoberta",
                              {.vocab_size = 250, .lowercase = false},
                              TokenizerTemplate::kRoberta},
        TokenizerTrainingKind{"UnigramBert",
                              {.type = TokenizerType::kUnigram, .vocab_size = 200},
                              TokenizerTemplate::kBert},
        TokenizerTrainingKind{
            "BpeBytesRoberta",
            {.type = TokenizerType::kBpe, .vocab_size = 480, .byte_fallback = true},
            TokenizerTemplate::kRoberta}),
    [](const auto& kind) { return kind.param.name; });

TEST(TrainedTokenizer, MakesTheVocabularyThatTheTextsAllow) {
  for (const auto type :
       {TokenizerType::kWordPiece, TokenizerType::kUnigram, TokenizerType::kBpe}) {
    TokenizerReport report;
    const auto tokenizer = train_tokenizer_training({.type = type, .vocab_size = 5000},
                                                    TokenizerTemplate::kRoberta, report);
    EXPECT_LT(tokenizer->size(), 5000);
    ASSERT_FALSE(report.warnings.empty());
    EXPECT_EQ(report.warnings.front(),
              str_cat("tokenizer.vocab_size: 5000, but these texts yield only ", tokenizer->size(),
                      " pieces"));
  }
}

TEST(TrainedTokenizer, NamesTheCharactersThatItLeavesOut) {
  TokenizerReport report;
  train_tokenizer(
      {.type = TokenizerType::kUnigram, .vocab_size = 40, .character_coverage = 0.99},
      TokenizerTemplate::kRoberta, 1,
      [](const TextVisitor& visit) {
        for (int i = 0; i < 100; ++i) {
          visit("the text of a novel");
        }
        visit("of 7 novels 7 \xC3\xA9");
      },
      report);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_TRUE(report.warnings.back().starts_with(
      "characters of the texts that become the unknown token: 7 (2x), "))
      << report.warnings.back();
  EXPECT_NE(report.warnings.back().find("\xC3\xA9 (1x)"), std::string::npos);
}

TEST(TokenizerTrainingErrors, SayHowManyPiecesAreNeeded) {
  TokenizerReport report;
  const std::string few = test::message_of<Error>([&] {
    train_tokenizer_training({.type = TokenizerType::kUnigram, .vocab_size = 20},
                             TokenizerTemplate::kBert, report);
  });
  EXPECT_TRUE(few.starts_with("tokenizer.vocab_size: 20 is too small")) << few;
  EXPECT_EQ(test::message_of<Error>([&] {
              train_tokenizer(
                  {}, TokenizerTemplate::kBert, 1, [](const TextVisitor&) {}, report);
            }),
            "tokenizer: no text to train on");
}

TEST(WordPieceTrainer, MergesTheCommonestPairFirst) {
  // h+u and u+g occur in 15 and 20 words, so `##ug` comes first (u is never at the head of a word),
  // then `hug`.
  const WordCounts counts{.words = {{"bun", 4}, {"hug", 10}, {"hugs", 5}, {"pug", 5}, {"pun", 12}}};
  const Vocabulary pieces = train_word_piece(counts, {.vocab_size = 15, .first = {"[UNK]"}});
  ASSERT_EQ(pieces.size(), 15);
  EXPECT_EQ(pieces.piece(0), "[UNK]");
  std::vector<std::string> found;
  for (int32_t id = 1; id < 15; ++id) {
    found.emplace_back(pieces.piece(id));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"b", "g", "h", "n", "p", "s", "u", "##g", "##n", "##s",
                                             "##u", "##ug", "##un", "hug"}));
}

TEST(WordPieceTrainer, SkipsRareCharacters) {
  const WordCounts counts{.words = {{"aaab", 9}, {"aac", 1}}};
  const Vocabulary pieces = train_word_piece(counts, {.vocab_size = 50, .limit_alphabet = 2});
  EXPECT_NE(pieces.find("##b"), Vocabulary::kNone);
  EXPECT_EQ(pieces.find("c"), Vocabulary::kNone);
  EXPECT_EQ(pieces.find("##c"), Vocabulary::kNone);
}

TEST(TextSample, KeepsSoManyAndTheSameAgain) {
  const auto draw = [](uint64_t seed) {
    TextSample sample(seed, 50, 1 << 20);
    for (int i = 0; i < 5000; ++i) {
      sample.offer(std::to_string(i));
    }
    return sample.take();
  };
  const auto first = draw(1);
  EXPECT_EQ(first.size(), 50U);
  EXPECT_EQ(first, draw(1));
  EXPECT_NE(first, draw(2));
  // A uniform sample has about half of its texts in the later half (8 standard deviations allowed).
  const auto later = std::count_if(first.begin(), first.end(),
                                   [](const std::string& t) { return std::stoi(t) >= 2500; });
  EXPECT_NEAR(static_cast<double>(later), 25.0, 18.0);
}

TEST(TextSample, BoundsTheBytesToo) {
  TextSample sample(1, 1000, 1000);
  for (int i = 0; i < 500; ++i) {
    sample.offer(std::string(100, 'x'));
  }
  EXPECT_EQ(sample.take().size(), 10U);
}

}  // namespace
}  // namespace weft::data
