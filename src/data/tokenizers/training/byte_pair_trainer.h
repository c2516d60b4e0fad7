#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace weft::data
