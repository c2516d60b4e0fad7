#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/datasets/noise_options.h"
#include "data/tokenizer.h"

namespace weft::data {

/// A stretch of text that a noise makes an example of.
struct PlainStretch {
  std::vector<int64_t> ids;
  std::vector<int64_t> ends;  // of its sentences, places in ids; the last is its size
};

/// Makes of a text what an encoder reads, and what a decoder is to write. Pure functions: chance
/// comes in as an argument.
class Noiser {
 public:
  virtual ~Noiser() = default;

  /// Tokens of the longest text whose two sides both fit into `length`.
  virtual int64_t room(int64_t length) const = 0;
  /// Tokens of both sides of the example that `make` gives of a text of so many tokens by the same
  /// chance.
  virtual int64_t length(int64_t tokens, Random random) const = 0;
  virtual Example make(const PlainStretch& text, Random random) const = 0;
  virtual uint64_t fingerprint() const = 0;
};

/// T5's: the right spans and sentinels are found in the tokenizer. `start`: the id that begins what
/// the decoder reads. Throws data::Error: no sentinels, or too few for `length`.
std::unique_ptr<Noiser> make_span_corruption(const Tokenizer& tokenizer,
                                             const SpanCorruptionOptions& options,
                                             int64_t start,
                                             int64_t length);

/// BART's. Throws data::Error: no mask token.
std::unique_ptr<Noiser> make_denoising(const Tokenizer& tokenizer,
                                       const DenoiseOptions& options,
                                       int64_t start);

/// The text is cut at a place that any of its tokens but the first may begin; the encoder reads
/// what is before, the decoder writes the rest (arXiv:1910.10683, section 3.3.1).
std::unique_ptr<Noiser> make_prefix_cut(const Tokenizer& tokenizer, int64_t start);

/// An example whose decoder writes `targets` and reads them one place later, behind `start`.
Example shifted(std::vector<int64_t> source, std::vector<int64_t> targets, int64_t start);

}  // namespace weft::data
