#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

inline constexpr int64_t kMostWords = 2'000'000;  // different ones that a trainer keeps

struct WordCounts {
  std::vector<std::pair<std::string, int64_t>> words;  // sorted by the word
  int64_t pruned = 0;  // rare words forgotten because the table had grown too large
};

/// Counts the words of the texts on all cores. At most `most_words` different ones are kept in the
/// end; the table never holds many more.
WordCounts count_words(const std::vector<std::string>& texts,
                       const Normalizer& normalizer,
                       const PreTokenizer& pre_tokenizer,
                       int64_t most_words);

}  // namespace weft::data
