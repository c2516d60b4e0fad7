#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

inline constexpr int64_t kMaxWords = 2'000'000;  // maximum number of distinct words a trainer keeps

struct WordCounts {
  std::vector<std::pair<std::string, int64_t>> words;  // sorted by the word
  int64_t pruned = 0;  // rare words discarded because the table was too large
};

/// Counts the words of the texts on all cores. Keeps at most `max_words` distinct words in the end;
/// the table is never much larger.
WordCounts count_words(const std::vector<std::string>& texts,
                       const Normalizer& normalizer,
                       const PreTokenizer& pre_tokenizer,
                       int64_t max_words);

}  // namespace weft::data
