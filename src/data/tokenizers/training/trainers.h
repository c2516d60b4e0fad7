#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer_options.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"
#include "data/tokenizers/special_token_layout.h"
#include "data/tokenizers/training/word_counts.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

struct BytePairTrainingOptions {
  int64_t vocab_size = 30522;
  int64_t min_frequency = 2;
  std::vector<std::string> first = {};     // special tokens with the first ids
  std::vector<std::string> alphabet = {};  // characters that get an id even if no word has them
};

struct BytePairPieces {
  Vocabulary vocabulary;
  std::vector<std::pair<int32_t, int32_t>> merges;  // left and right ids, in order of rank
};

/// Byte pair encoding (arXiv:1508.07909): repeatedly merges the most frequent adjacent pair. Gives
/// the same vocabulary and merges as the trainer of `tokenizers`: special tokens, then the
/// characters in code point order, then the merged pieces; ties go to the pair with lower ids.
/// Stops early when pairs become rarer than `min_frequency`.
BytePairPieces train_byte_pair(const WordCounts& counts, const BytePairTrainingOptions& options);

struct WordPieceTrainingOptions {
  int64_t vocab_size = 30522;
  int64_t min_frequency = 2;
  int64_t limit_alphabet = 1000;  // maximum alphabet size; the most frequent are kept
  int64_t max_alphabet_pieces =
      1'000'000;              // maximum number of alphabet pieces, with and without prefix
  std::string prefix = "##";  // of pieces inside a word
  std::vector<std::string> first = {};  // special tokens with the first ids
};

/// Learns pieces by repeatedly merging the most frequent adjacent pair, like the trainer of
/// `tokenizers`; ties go to lower ids. The vocabulary may stay smaller than requested if pairs
/// become rarer than `min_frequency`.
Vocabulary train_word_piece(const WordCounts& counts, const WordPieceTrainingOptions& options);

/// Builds a tokenizer with one token per character of the texts, in code point order after the
/// special tokens. If there are more than vocab_size, the rarest become unknown. The line feed is
/// always included.
std::shared_ptr<const Tokenizer> train_character_tokenizer(const TokenizerOptions& options,
                                                           TokenizerTemplate style,
                                                           const std::vector<std::string>& texts);

/// Builds a tokenizer whose tokens are the words between white space, as they are, the most
/// frequent first. Words that are rarer than `min_frequency` or beyond `vocab_size` become unknown.
std::shared_ptr<const Tokenizer> train_word_level_tokenizer(const TokenizerOptions& options,
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report);

/// Builds a tokenizer whose tokens are the words, character n-grams and word n-grams that occur at
/// least `min_frequency` times; at most `vocab_size` in all, words first.
std::shared_ptr<const Tokenizer> train_fasttext_tokenizer(const TokenizerOptions& options,
                                                          const std::vector<std::string>& texts);

/// Trains a GPT-2 style tokenizer: byte pair encoding over the bytes of words, so that no text
/// contains unknown tokens. Throws data::Error if `vocab_size` is smaller than the 256 bytes plus
/// the style's special tokens.
std::shared_ptr<const Tokenizer> train_byte_level_tokenizer(const TokenizerOptions& options,
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report);

/// Longer texts (in bytes) are not passed to libsentencepiece's trainer.
inline constexpr int64_t kMaxSentenceBytes = 65536;

struct TrainedSentencePiece {
  std::string bytes;       // of its `.model` file
  int64_t vocab_size = 0;  // as in the options, unless the texts yield fewer pieces
};

/// Trains a model with libsentencepiece. Padding and mask are left out unless they are among the
/// layout's first tokens; the model then has that many pieces fewer than `vocab_size`. Throws
/// data::Error.
TrainedSentencePiece train_sentencepiece(const TokenizerOptions& options,
                                         const SpecialTokenLayout& layout,
                                         const std::vector<std::string>& texts);

}  // namespace weft::data
