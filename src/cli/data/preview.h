#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/tokenizer.h"

namespace weft::cli {

/// Counts, over many examples, of how the tokens that contribute to the loss were masked.
struct MaskCounts {
  int64_t tokens = 0;    // of all examples, special tokens included
  int64_t masked = 0;    // replaced by the mask token
  int64_t replaced = 0;  // replaced by another token
  int64_t kept = 0;      // left unchanged
  int64_t targets() const { return masked + replaced + kept; }
};

/// An example as text on one line, as the model sees it. With colours: special tokens dim; at
/// targets, the original token struck out and followed by the replacement, or underlined if kept.
/// Without: `{original>[MASK]}`, `{original>other}`, `{original}`.
std::string show_example(const data::Example& example,
                         const data::Tokenizer& tokenizer,
                         bool has_colors);

/// An example of tagged words, its tag in brackets after each labelled piece: `Tu[B-PER] ##rin`.
std::string show_tagged(const data::Example& example,
                        const data::Tokenizer& tokenizer,
                        const std::vector<std::string>& labels);

/// Metadata of the tokens beside the ids, as spans: `en at positions 0 to 12, fr at positions 0 to
/// 9`. Empty for models without languages and positions.
std::string show_token_metadata(const data::Example& example,
                                const std::vector<std::string>& languages);

/// Whether each token's target is the next token, as in generative models.
bool predicts_next_token(const data::Example& example);

/// Such an example: the encoder input, if any, on one line, and the target text on the next.
std::string show_generation(const data::Example& example,
                            const data::Tokenizer& tokenizer,
                            bool has_colors);

/// Legend of show_example's markup, in the same colours.
std::string show_legend(bool has_colors);

void count_masks(const data::Example& example,
                 const data::Tokenizer& tokenizer,
                 MaskCounts& counts);

}  // namespace weft::cli
