#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/tokenizer.h"

namespace weft::cli {

/// How the tokens that the loss looks at were treated, over many examples.
struct MaskCounts {
  int64_t tokens = 0;    // of all examples, special ones too
  int64_t masked = 0;    // the mask token stands there
  int64_t replaced = 0;  // another token
  int64_t kept = 0;      // the token itself
  int64_t targets() const { return masked + replaced + kept; }
};

/// An example as text on one line, as the model sees it. With colours: special tokens dim; where
/// the loss looks, the right token struck out and after it what stands there, or underlined where
/// it was kept. Without: `{right>[MASK]}`, `{right>other}`, `{right}`.
std::string show_example(const data::Example& example,
                         const data::Tokenizer& tokenizer,
                         bool has_colors);

/// An example of tagged words, its tag in brackets after each labelled piece: `Tu[B-PER] ##rin`.
std::string show_tagged(const data::Example& example,
                        const data::Tokenizer& tokenizer,
                        const std::vector<std::string>& labels);

/// What a model is told of the tokens beside the ids, in stretches: `en at positions 0 to 12, fr at
/// positions 0 to 9`. Empty where it is told neither languages nor positions.
std::string show_places(const data::Example& example, const std::vector<std::string>& languages);

/// Whether each token's target is the one behind it, as of models that write.
bool predicts_order(const data::Example& example);

/// Such an example: what an encoder reads, where there is one, on one line, and what is to be
/// written on the next.
std::string show_order(const data::Example& example,
                       const data::Tokenizer& tokenizer,
                       bool has_colors);

/// What show_example's signs mean, in the same colours.
std::string show_legend(bool has_colors);

void count_masks(const data::Example& example,
                 const data::Tokenizer& tokenizer,
                 MaskCounts& counts);

}  // namespace weft::cli
