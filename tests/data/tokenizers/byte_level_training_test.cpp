#include <algorithm>
#include <filesystem>
#include <ostream>

#include <gtest/gtest.h>

#include "data/tokenizer_options.h"
#include "data/tokenizers/training/trainers.h"
#include "formats/json.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using formats::Json;

/// Written by scripts/make_byte_pair_reference.py.
Json byte_level_training_reference() {
  return formats::read_json(std::string(WEFT_SOURCE_DIR) +
                            "/tests/reference/byte_pair_training.json");
}

TokenizerTemplate style_named(const std::string& name) {
  if (name == "bert") {
    return TokenizerTemplate::kBertNoSegments;
  }
  return name == "gpt2" ? TokenizerTemplate::kGpt2 : TokenizerTemplate::kRoberta;
}

std::shared_ptr<const Tokenizer> train_byte_level_training(const std::vector<std::string>& lines,
                                                           const TokenizerOptions& options,
                                                           TokenizerTemplate style) {
  TokenizerReport report;
  return train_tokenizer(
      options, style, 1,
      [&](const TextVisitor& visit) { std::for_each(lines.begin(), lines.end(), visit); }, report);
}

TokenizerOptions byte_level(int64_t vocab_size, int64_t min_frequency = 2) {
  return {.type = TokenizerType::kByteLevelBpe,
          .vocab_size = vocab_size,
          .min_frequency = min_frequency};
}

std::vector<std::string> plain_lines() {
  return byte_level_training_reference()[0]["lines"].get<std::vector<std::string>>();
}

class ByteLevelTraining : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ByteLevelTraining, LearnsWhatTokenizersLearns) {
  const Json whole = byte_level_training_reference();
  const Json& expected = whole[GetParam()];
  SCOPED_TRACE(expected["name"].get<std::string>());
  TokenizerOptions options = byte_level(static_cast<int64_t>(expected["pieces"].size()),
                                        expected["min_frequency"].get<int64_t>());
  options.add_prefix_space = expected["add_prefix_space"].get<bool>();
  const auto tokenizer =
      train_byte_level_training(expected["lines"].get<std::vector<std::string>>(), options,
                                style_named(expected["style"].get<std::string>()));
  const test::Folder folder;
  tokenizer->save(folder.path(), 128);
  const Json model = formats::read_json(folder.path("tokenizer.json"))["model"];
  ASSERT_EQ(model["vocab"].size(), expected["pieces"].size());
  for (std::size_t id = 0; id < expected["pieces"].size(); ++id) {
    EXPECT_EQ(tokenizer->piece(static_cast<int32_t>(id)), expected["pieces"][id]);
  }
  EXPECT_EQ(model["merges"], expected["merges"]);
}

INSTANTIATE_TEST_SUITE_P(All, ByteLevelTraining, ::testing::Range<std::size_t>(0, 9));

TEST(ByteLevelTrainingReference, HasNoMoreCases) {
  EXPECT_EQ(byte_level_training_reference().size(), 9U);
}

TEST(BytePairTrainer, DecidesEqualCountsByLowerIds) {
  // `ab` and `cd` occur twice each.
  const WordCounts counts{.words = {{"ab", 2}, {"cd", 2}}};
  const BytePairPieces pieces = train_byte_pair(counts, {.vocab_size = 6, .first = {"x"}});
  ASSERT_EQ(pieces.vocabulary.size(), 6);
  EXPECT_EQ(pieces.vocabulary.piece(0), "x");
  EXPECT_EQ(pieces.vocabulary.piece(5), "ab");
  EXPECT_EQ(pieces.merges, (std::vector<std::pair<int32_t, int32_t>>{{1, 2}}));
}

TEST(BytePairTrainer, DoesNotMergeRarePairs) {
  const WordCounts counts{.words = {{"ab", 2}, {"cd", 1}}};
  EXPECT_EQ(train_byte_pair(counts, {.vocab_size = 100}).vocabulary.size(), 5);
  EXPECT_EQ(train_byte_pair(counts, {.vocab_size = 100, .min_frequency = 1}).vocabulary.size(), 6);
}

struct ByteLevelTrainingKind {
  std::string name;
  TokenizerTemplate style;
  bool add_prefix_space;
  std::string tokenizer_class;

  friend std::ostream& operator<<(std::ostream& out, const ByteLevelTrainingKind& kind) {
    return out << kind.name;
  }
};

class ByteLevelFiles : public ::testing::TestWithParam<ByteLevelTrainingKind> {};

TEST_P(ByteLevelFiles, GiveTheSameIdsWhicheverIsRead) {
  TokenizerOptions options = byte_level(370);
  options.add_prefix_space = GetParam().add_prefix_space;
  const auto trained = train_byte_level_training(plain_lines(), options, GetParam().style);
  const test::Folder folder;
  trained->save(folder.path(), 128);
  const auto loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->fingerprint(), trained->fingerprint());
  const Json config = formats::read_json(folder.path("tokenizer_config.json"));
  EXPECT_EQ(config["tokenizer_class"], GetParam().tokenizer_class);
  EXPECT_EQ(config["add_prefix_space"], GetParam().add_prefix_space);
  std::filesystem::remove(folder.path("tokenizer.json"));
  ASSERT_TRUE(std::filesystem::exists(folder.path("merges.txt")));
  const bool rebuilds = GetParam().tokenizer_class != "PreTrainedTokenizerFast";
  const auto older = rebuilds ? load_tokenizer(folder.path()) : loaded;
  auto lines = plain_lines();
  lines.emplace_back("A [MASK] and a <mask>, a <|endoftext|> too");
  for (const std::string& line : lines) {
    std::vector<int32_t> expected;
    trained->encode(line, expected);
    std::vector<int32_t> found;
    older->encode(line, found);
    EXPECT_EQ(found, expected) << line;
    EXPECT_EQ(older->sequence(found, found).ids, trained->sequence(found, found).ids);
  }
}

TEST_P(ByteLevelFiles, LoseNoByte) {
  const auto trained = train_byte_level_training(plain_lines(), byte_level(370), GetParam().style);
  for (const std::string& line : plain_lines()) {
    std::vector<int32_t> ids;
    trained->encode(line, ids);
    EXPECT_EQ(trained->decode(ids, false), line);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    ByteLevelFiles,
    ::testing::Values(
        ByteLevelTrainingKind{"Roberta", TokenizerTemplate::kRoberta, false, "RobertaTokenizer"},
        ByteLevelTrainingKind{"RobertaPrefix", TokenizerTemplate::kRoberta, true,
                              "RobertaTokenizer"},
        ByteLevelTrainingKind{"XlmRoberta", TokenizerTemplate::kXlmRoberta, false,
                              "RobertaTokenizer"},
        ByteLevelTrainingKind{"Gpt2", TokenizerTemplate::kGpt2, false, "GPT2Tokenizer"},
        ByteLevelTrainingKind{"Bert", TokenizerTemplate::kBert, false, "PreTrainedTokenizerFast"},
        ByteLevelTrainingKind{"ModernBert", TokenizerTemplate::kBertNoSegments, true,
                              "PreTrainedTokenizerFast"}),
    [](const auto& kind) { return kind.param.name; });

TEST(ByteLevelSpecialTokens, PrecedeThePieces) {
  const auto roberta =
      train_byte_level_training(plain_lines(), byte_level(370), TokenizerTemplate::kRoberta);
  const SpecialTokenIds ids = roberta->special_token_ids();
  EXPECT_EQ((std::vector<int32_t>{ids.bos, ids.pad, ids.eos, ids.unk, ids.mask}),
            (std::vector<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(roberta->sequence({7}, {8}).ids, (std::vector<int32_t>{0, 7, 2, 2, 8, 2}));
  const auto gpt2 =
      train_byte_level_training(plain_lines(), byte_level(370), TokenizerTemplate::kGpt2);
  EXPECT_EQ(gpt2->special_token_ids().eos, 0);
  EXPECT_EQ(gpt2->special_token_ids().pad, 0);  // as the end
  EXPECT_EQ(gpt2->sequence({7}).ids, (std::vector<int32_t>{7}));
  // The mask takes the space before it along.
  std::vector<int32_t> masked;
  roberta->encode("a <mask>", masked);
  EXPECT_EQ(masked.size(), 2U);
  EXPECT_EQ(masked.back(), 4);
}

TEST(ByteLevelSpecialTokens, ModernBertComposesCharacters) {
  const auto tokenizer =
      train_byte_level_training(plain_lines(), byte_level(370), TokenizerTemplate::kBertNoSegments);
  std::vector<int32_t> composed;
  std::vector<int32_t> apart;
  tokenizer->encode("caf\u00e9", composed);
  tokenizer->encode("cafe\u0301", apart);
  EXPECT_EQ(composed, apart);
  std::vector<int32_t> masked;
  tokenizer->encode("a [MASK]", masked);  // takes the space before it along
  EXPECT_EQ(masked.size(), 2U);
  EXPECT_EQ(tokenizer->sequence({7}, {8}).ids, (std::vector<int32_t>{2, 7, 3, 8, 3}));
}

TEST(ByteLevelErrors, SayHowManyPiecesThereCanBe) {
  EXPECT_EQ(test::message_of<Error>([&] {
              train_byte_level_training(plain_lines(), byte_level(260),
                                        TokenizerTemplate::kRoberta);
            }),
            "tokenizer.vocab_size: 260 is too small, 256 bytes and the special tokens alone need "
            "261 pieces");
  const auto most =
      train_byte_level_training(plain_lines(), byte_level(50000), TokenizerTemplate::kRoberta);
  EXPECT_LT(most->size(), 50000);
  EXPECT_EQ(test::message_of<Error>(
                [&] { train_byte_level_training(plain_lines(), {}, TokenizerTemplate::kQwen2); }),
            "tokenizer.type: must be byte_level_bpe for qwen2: its tokenizer class in transformers "
            "supports no other");
}

TEST(GptTraining, PiecesOfOtherTypesHaveAnUnknownToken) {
  for (const auto type :
       {TokenizerType::kWordPiece, TokenizerType::kBpe, TokenizerType::kUnigram}) {
    const auto trained = train_byte_level_training(plain_lines(), {.type = type, .vocab_size = 300},
                                                   TokenizerTemplate::kGpt2);
    const auto ids = trained->special_token_ids();
    EXPECT_EQ((std::vector<int32_t>{ids.unk, ids.cls, ids.sep}), (std::vector<int32_t>{0, 1, 2}));
    const test::Folder folder;
    trained->save(folder.path(), 128);
    const auto loaded = load_tokenizer(folder.path());
    EXPECT_EQ(loaded->fingerprint(), trained->fingerprint());
    std::vector<int32_t> found;
    loaded->encode(plain_lines().front(), found);
    EXPECT_FALSE(found.empty());
  }
}

TEST(XlmRobertaTraining, HasFairseqsIds) {
  TokenizerOptions options{.type = TokenizerType::kUnigram, .vocab_size = 200};
  const auto trained =
      train_byte_level_training(plain_lines(), options, TokenizerTemplate::kXlmRoberta);
  EXPECT_EQ(trained->size(), 200);
  const SpecialTokenIds ids = trained->special_token_ids();
  EXPECT_EQ((std::vector<int32_t>{ids.cls, ids.pad, ids.sep, ids.unk, ids.mask}),
            (std::vector<int32_t>{0, 1, 2, 3, 199}));
  const test::Folder folder;
  trained->save(folder.path(), 128);
  EXPECT_EQ(formats::read_json(folder.path("tokenizer_config.json"))["tokenizer_class"],
            "XLMRobertaTokenizer");
  EXPECT_EQ(load_tokenizer(folder.path())->fingerprint(), trained->fingerprint());
  ASSERT_TRUE(std::filesystem::exists(folder.path("sentencepiece.bpe.model")));
  std::filesystem::remove(folder.path("tokenizer.json"));
  const auto from_model = load_tokenizer(folder.path());  // sentencepiece.bpe.model alone
  EXPECT_EQ(from_model->size(), 200);
  for (const std::string& line : plain_lines()) {
    std::vector<int32_t> expected;
    trained->encode(line, expected);
    std::vector<int32_t> found;
    from_model->encode(line, found);
    EXPECT_EQ(found, expected) << line;
    EXPECT_EQ(from_model->sequence(found, found).ids, trained->sequence(found, found).ids);
  }
}

}  // namespace
}  // namespace weft::data
