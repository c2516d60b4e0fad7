#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/tokenizer.h"

namespace weft::data {

/// T5's span corruption (arXiv:1910.10683, section 3.1.4): each span is replaced by one sentinel,
/// and the target is the spans, each preceded by its sentinel.
struct SpanCorruptionOptions {
  double fraction = 0.15;  // of the tokens, to be replaced
  double span_mean = 3;    // mean span length in tokens
};

/// BART's noise functions (arXiv:1910.13461, section 2.2), applied in this order: sentence
/// permutation, rotation, text infilling (one mask token per span), token deletion, token masking.
struct DenoisingOptions {
  double permute_sentences = 1;     // fraction of the texts
  double rotate = 0;                // fraction of the texts
  double infilling_fraction = 0.3;  // of the tokens, to be replaced
  double infilling_span_mean = 3;   // span length in tokens: Poisson; length 0 inserts a mask token
  double delete_fraction = 0;       // of the tokens
  double mask_fraction = 0;         // of the tokens, each replaced by a mask token
};

/// A span of text before corruption.
struct CleanText {
  std::vector<int64_t> ids;
  std::vector<int64_t> sentence_ends;  // end of each sentence in ids; the last is its size
};

/// Builds encoder input and decoder target from a text. Pure functions: the random state is an
/// argument.
class Corruption {
 public:
  virtual ~Corruption() = default;

  /// Largest number of tokens for which both sides fit into `length`.
  virtual int64_t max_tokens(int64_t length) const = 0;
  /// Tokens of both sides of the example that `make` builds from `tokens` tokens with the same
  /// random state.
  virtual int64_t length(int64_t tokens, Random random) const = 0;
  virtual Example make(const CleanText& text, Random random) const = 0;
  virtual uint64_t fingerprint() const = 0;
};

/// T5's span corruption; the sentinels are looked up in the tokenizer. `decoder_start_id`: first
/// decoder input. Throws data::Error: no sentinels, or too few for `length`.
std::unique_ptr<Corruption> make_span_corruption(const Tokenizer& tokenizer,
                                                 const SpanCorruptionOptions& options,
                                                 int64_t decoder_start_id,
                                                 int64_t length);

/// BART's denoising. Throws data::Error: no mask token.
std::unique_ptr<Corruption> make_denoising(const Tokenizer& tokenizer,
                                           const DenoisingOptions& options,
                                           int64_t decoder_start_id);

/// Prefix LM: splits the text before a random token other than the first; the encoder reads the
/// first part, the decoder predicts the rest (arXiv:1910.10683, section 3.3.1).
std::unique_ptr<Corruption> make_prefix_split(const Tokenizer& tokenizer, int64_t decoder_start_id);

/// Example with `targets` as decoder target, and `targets` shifted right after `decoder_start_id`
/// as decoder input.
Example make_shifted_example(std::vector<int64_t> source,
                             std::vector<int64_t> targets,
                             int64_t decoder_start_id);

}  // namespace weft::data
