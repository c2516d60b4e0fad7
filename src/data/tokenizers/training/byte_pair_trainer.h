#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizers/training/word_counts.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

struct BytePairTraining {
  int64_t vocab_size = 30522;
  int64_t min_frequency = 2;
  std::vector<std::string> first = {};     // special tokens that get the first ids
  std::vector<std::string> alphabet = {};  // signs that get an id also where no word has them
};

struct BytePairPieces {
  Vocabulary vocabulary;
  std::vector<std::pair<int32_t, int32_t>> merges;  // ids of the two sides, in order of rank
};

/// Byte pair encoding (arXiv:1508.07909): merges the commonest pair of neighbours again and again.
/// Gives the very vocabulary and merges of the trainer of `tokenizers`: special tokens, then the
/// signs in the order of their code points, then what is merged; of equal counts the pair of lower
/// ids. Ends early where pairs become rarer than `min_frequency`.
BytePairPieces train_byte_pair(const WordCounts& counts, const BytePairTraining& options);

}  // namespace weft::data
