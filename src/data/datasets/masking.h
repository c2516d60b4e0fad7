#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/tokenizer.h"

namespace weft::data {

enum class MaskUnit { kToken, kWord, kSpan };

/// Masked language modelling (arXiv:1810.04805, section 3.1): which tokens are hidden, and what
/// stands in their place.
struct MaskOptions {
  double fraction = 0.15;   // of a sequence's tokens, special ones not counted; at least one token
  double mask_share = 0.8;  // of the chosen: the mask token
  double random_share =
      0.1;  // of the chosen: any id that is not special; the rest stay as they are
  MaskUnit unit =
      MaskUnit::kToken;    // word: all pieces of a word together; span: SpanBERT (arXiv:1907.10529)
  double span_mean = 3.8;  // mean length of spans, in words: geometric, cut at span_longest
  int64_t span_longest = 10;
  bool is_static = false;  // the same masks in every epoch, for comparison with dynamic ones
};

/// Hides tokens of examples. Tokens that are special to the tokenizer are never chosen and never
/// drawn.
///
/// Of a sequence with n tokens that are not special, round(fraction * n) are chosen, at least one.
/// Whole words are taken in random order; one that would exceed that number is passed over, so a
/// sequence may have a few less (or, where no word fits, one whole word). Spans begin at random
/// words and go on for a geometric number of words, within the same bound; what stands in their
/// place is decided once for a span, else for each token.
class Masker {
 public:
  /// Throws data::Error: the tokenizer has no mask token, a mean span length that no geometric law
  /// gives.
  Masker(const Tokenizer& tokenizer, const MaskOptions& options);

  /// `ids` change, `target_positions` and `targets` are filled. Pure function of (seed, epoch,
  /// item); static masks are those of epoch 0.
  void mask(Example& example, uint64_t seed, int64_t epoch, int64_t item) const;

 private:
  struct Word {
    int64_t begin = 0;  // positions of the example
    int64_t end = 0;
  };
  /// A run of positions that are replaced in one manner.
  using Chosen = std::vector<Word>;

  Chosen choose_tokens(const std::vector<int64_t>& ids, Random& random) const;
  Chosen choose_words(const std::vector<int64_t>& ids, Random& random) const;
  Chosen choose_spans(const std::vector<int64_t>& ids, Random& random) const;
  std::vector<Word> words(const std::vector<int64_t>& ids) const;
  int64_t wanted(int64_t candidates) const;
  int64_t span_length(Random& random) const;
  void replace(Example& example, const Chosen& chosen, Random& random) const;

  MaskOptions options_;
  int64_t mask_id_;
  std::vector<uint8_t> is_special_;      // by id
  std::vector<uint8_t> continues_word_;  // by id
  std::vector<int32_t> drawable_;        // ids that may stand for a hidden one
  std::vector<double> span_cumulated_;   // P(length <= i + 1)
};

}  // namespace weft::data
