#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/tokenizer.h"

namespace weft::data {

enum class MaskUnit { kToken, kWord, kSpan };

/// Masked language modelling (arXiv:1810.04805, section 3.1): selection of tokens and their
/// replacement.
struct MaskOptions {
  double fraction = 0.15;        // of a sequence's tokens without special ones; at least one token
  double mask_token_prob = 0.8;  // of the selected: the mask token
  double random_token_prob =
      0.1;  // of the selected: any id that is not special; the rest are unchanged
  MaskUnit unit =
      MaskUnit::kToken;    // word: all pieces of a word together; span: SpanBERT (arXiv:1907.10529)
  double mean_span = 3.8;  // mean span length in words: geometric, truncated at max_span
  int64_t max_span = 10;
  bool is_static = false;  // the same masks in every epoch, to compare with dynamic masking
};

/// Draws `count` of the values without replacement, to the front, in random order: the first steps
/// of a Fisher-Yates shuffle.
template <class Value>
void draw_to_front(std::vector<Value>& values, std::size_t count, Random& random) {
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(values[i], values[i + random.uniform_int(values.size() - i)]);
  }
}

/// Masks tokens of examples. Special tokens of the tokenizer are never selected and never drawn as
/// replacements.
///
/// In a sequence with n tokens that are not special, round(fraction * n) are selected, at least
/// one. Whole words are taken in random order; a word that would exceed that number is skipped, so
/// a sequence may have slightly fewer (or, if no word fits, one whole word). Spans start at random
/// words and cover a geometric number of words, within the same bound; the kind of replacement is
/// drawn once per span, otherwise once per token.
class Masker {
 public:
  /// Throws data::Error: the tokenizer has no mask token, or no geometric distribution has the mean
  /// span length.
  Masker(const Tokenizer& tokenizer, const MaskOptions& options);

  /// Changes `ids` and fills `target_positions` and `targets`. Pure function of (seed, epoch,
  /// item); static masks are those of epoch 0.
  void mask(Example& example, uint64_t seed, int64_t epoch, int64_t item) const;

 private:
  struct Word {
    int64_t begin = 0;  // positions of the example
    int64_t end = 0;
  };
  /// A run of positions with the same kind of replacement.
  using Selection = std::vector<Word>;

  Selection select_tokens(const std::vector<int64_t>& ids, Random& random) const;
  Selection select_words(const std::vector<int64_t>& ids, Random& random) const;
  Selection select_spans(const std::vector<int64_t>& ids, Random& random) const;
  std::vector<Word> words(const std::vector<int64_t>& ids) const;
  int64_t mask_count(int64_t candidates) const;
  int64_t span_length(Random& random) const;
  void replace(Example& example, const Selection& selection, Random& random) const;

  MaskOptions options_;
  int64_t mask_id_;
  std::vector<uint8_t> is_special_;        // by id
  std::vector<uint8_t> continues_word_;    // by id
  std::vector<int32_t> random_token_ids_;  // candidates for random replacement
  std::vector<double> span_length_cdf_;    // P(length <= i + 1)
};

}  // namespace weft::data
