#include "data/tokenizer_options.h"

#include <gtest/gtest.h>

#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

TokenizerOptions read_tokenizer(const Keys& keys) {
  auto section = test::section("tokenizer", keys);
  return read_tokenizer_options(section);
}

std::string tokenizer_message(const Keys& keys) {
  return test::message_of<config::Error>([&] { read_tokenizer(keys); });
}

TEST(TokenizerOptions, ReadsTheKeysOfItsType) {
  const TokenizerOptions word_piece =
      read_tokenizer({{"vocab_size", "400"}, {"lowercase", "false"}, {"strip_accents", "true"}});
  EXPECT_EQ(word_piece.type, TokenizerType::kWordPiece);
  EXPECT_EQ(word_piece.vocab_size, 400);
  EXPECT_FALSE(word_piece.lowercase);
  EXPECT_EQ(word_piece.strip_accents, true);
  const TokenizerOptions bpe = read_tokenizer({{"type", "bpe"}, {"byte_fallback", "true"}});
  EXPECT_EQ(bpe.type, TokenizerType::kBpe);
  EXPECT_TRUE(bpe.byte_fallback);
  EXPECT_FALSE(read_tokenizer({}).strip_accents.has_value());
}

TEST(TokenizerOptions, ReadsByteLevelKeys) {
  const TokenizerOptions options = read_tokenizer({{"type", "byte_level_bpe"},
                                                   {"vocab_size", "400"},
                                                   {"add_prefix_space", "true"},
                                                   {"min_frequency", "3"}});
  EXPECT_EQ(options.type, TokenizerType::kByteLevelBpe);
  EXPECT_TRUE(options.add_prefix_space);
  EXPECT_EQ(options.min_frequency, 3);
  EXPECT_NE(tokenizer_message({{"add_prefix_space", "true"}})
                .find("tokenizer.add_prefix_space: belongs to type: byte_level_bpe"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"type", "byte_level_bpe"}, {"lowercase", "true"}})
                .find("tokenizer.lowercase: belongs to type: wordpiece"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"type", "unigram"}, {"min_frequency", "3"}})
                .find("tokenizer.min_frequency: belongs to type: wordpiece, byte_level_bpe, "
                      "word_level or fasttext"),
            std::string::npos);
}

TEST(TokenizerOptions, RefusesAFileWithTrainingOptions) {
  const test::Folder folder;
  const std::string file = folder.write("vocab.txt", "[UNK]\n");
  EXPECT_NE(tokenizer_message({{"train_on", "data"}, {"file", file}})
                .find("tokenizer.file: an existing tokenizer is used as is, so it cannot be "
                      "combined with train_on"),
            std::string::npos);
  EXPECT_NE(
      tokenizer_message({{"vocab_size", "400"}, {"file", file}}).find("combined with vocab_size"),
      std::string::npos);
  EXPECT_EQ(read_tokenizer({{"file", file}}).file, file);
}

TEST(TokenizerOptions, NamesWhatIsWrong) {
  EXPECT_NE(tokenizer_message({{"file", "no/such/file"}})
                .find("tokenizer.file: 'no/such/file': no such file"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"vocab_size", "3"}}).find("tokenizer.vocab_size: 3"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"lowercase", "true"}, {"type", "bpe"}})
                .find("tokenizer.lowercase: belongs to type: wordpiece"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"byte_fallback", "true"}})
                .find("tokenizer.byte_fallback: belongs to type: unigram or bpe"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"train_on", "no/such/*.txt"}})
                .find("tokenizer.train_on: 'no/such/*.txt' matches no file"),
            std::string::npos);
  EXPECT_NE(tokenizer_message({{"vocabsize", "400"}}).find("vocab_size"), std::string::npos);
}

}  // namespace
}  // namespace weft::data
