#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizers/training/word_counts.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

struct WordPieceTraining {
  int64_t vocab_size = 30522;
  int64_t min_frequency = 2;
  int64_t most_characters = 1000;     // of the alphabet: the commonest
  int64_t alphabet_room = 1'000'000;  // pieces that the alphabet may take, with and without prefix
  std::string prefix = "##";          // of pieces within a word
  std::vector<std::string> first = {};  // special tokens that get the first ids
};

/// Learns pieces by merging the commonest pair of neighbours again and again, as the trainer of
/// `tokenizers` does; equal counts are decided by the lower ids. The vocabulary may stay smaller
/// than asked for where pairs become rarer than `min_frequency`.
Vocabulary train_word_piece(const WordCounts& counts, const WordPieceTraining& options);

}  // namespace weft::data
