#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizers/training/word_counts.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

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

}  // namespace weft::data
