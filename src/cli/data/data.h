#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/text/statistics.h"
#include "data/tokenizer.h"

namespace weft::cli {

/// `weft data split FILE ...`: arguments after `split`; returns the exit status.
int run_data_split(const std::vector<std::string>& arguments);

/// `weft data shortlist MODEL ...`: arguments after `shortlist`; returns the exit status.
int run_data_shortlist(const std::vector<std::string>& arguments);

/// A heading, a line of numbers and a bar for each power of two.
std::string show_lengths(const std::string& what, const data::LengthCounts& lengths);

/// Documents, sentences, tokens, repeated sentences; with `knows_unknown` also the fraction of
/// unknown tokens.
std::string show_store(const data::StoreStatistics& statistics, bool knows_unknown);

/// Sequences, their tokens, targets and classes.
std::string show_dataset(const data::DatasetStatistics& statistics,
                         int64_t size,
                         const std::vector<std::string>& labels);

/// An image as the model sees it, as ASCII art: denser characters for higher values, at most 64 per
/// line; hidden patches are middle dots.
std::string show_image(const data::Example& example, int64_t patch);

/// Images, sizes, classes, and mean and standard deviation of the pixels per channel as the model
/// sees them, for the first `count` images of an epoch.
std::string show_images(const data::Dataset& dataset,
                        const std::vector<std::string>& labels,
                        int64_t patch,
                        int64_t count);

/// `, label 7`; for a mixed image the fraction of each class.
std::string show_classes(const data::Example& example, const std::vector<std::string>& labels);

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

/// Metadata of the tokens other than the ids, as spans: `en at positions 0 to 12, fr at positions 0
/// to 9`. Empty for models without languages and positions.
std::string show_token_metadata(const data::Example& example,
                                const std::vector<std::string>& languages);

/// Whether each token's target is the next token, as in generative models.
bool predicts_next_token(const data::Example& example);

/// Such an example: the encoder input, if any, on one line, and the target text on the next.
std::string show_generation(const data::Example& example,
                            const data::Tokenizer& tokenizer,
                            bool has_colors);

/// Whether the targets are the tokens of whole sentences.
bool predicts_sentences(const data::Example& example);

/// Such an example: a line for each sentence, and below each one that is predicted its tokens in
/// braces.
std::string show_predicted_sentences(const data::Example& example,
                                     const data::Tokenizer& tokenizer,
                                     bool has_colors);

/// Legend of show_example's markup, in the same colours.
std::string show_legend(bool has_colors);

void count_masks(const data::Example& example,
                 const data::Tokenizer& tokenizer,
                 MaskCounts& counts);

}  // namespace weft::cli
