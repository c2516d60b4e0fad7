#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "data/datasets/sequence_template.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Limits of the texts of a model that reads them sentence by sentence.
struct SentenceLimits {
  int64_t sentences = 30;        // maximum of a text
  int64_t sentence_length = 50;  // maximum tokens of one, special tokens included
  int64_t length = 1500;         // maximum tokens of a text, all special tokens included
};

/// A document, tokenised sentence by sentence.
struct SentenceIds {
  std::vector<int32_t> ids = {};      // with all special tokens
  std::vector<int64_t> lengths = {};  // tokens of the sentences, of which the first ones are kept
  bool is_shortened = false;          // whether something was left out
};

/// Tokenises texts whose sentences each have the special tokens of the tokenizer's template. A
/// sentence ends as in visit_sentences with SentenceBoundary::kPunctuation, so also with its line.
class SentenceEncoder {
 public:
  /// Throws Error if the template adds no token after a text, or leaves no space for text.
  SentenceEncoder(const Tokenizer& tokenizer, const SentenceLimits& limits);

  /// Appends the ids, without the special tokens in front of the first sentence and after the
  /// last, which Tokenizer::sequence adds. Longer sentences are truncated; of more sentences than
  /// the limits allow the first ones remain. Returns whether something was left out.
  bool encode(std::string_view text, std::vector<int32_t>& ids) const;

  /// The same for given sentences, which are not divided further; those without tokens have the
  /// special ones.
  SentenceIds encode(const std::vector<std::string_view>& sentences) const;

 private:
  /// Adds as much of a sentence as the limits allow. `keeps_empty`: also one without tokens.
  void add(std::string_view sentence, bool keeps_empty, SentenceIds& document) const;

  const Tokenizer& tokenizer_;
  SentenceLimits limits_;
  SequenceTemplate template_;
};

/// The sentences of a text, as SentenceEncoder divides it.
std::vector<std::string> sentences_of(std::string_view text);

/// Sets the lengths of the sentences, and their last tokens as the positions of its targets.
void add_sentence_targets(std::vector<int64_t> lengths, Example& example);

/// Tokens of each sentence of a whole sequence: one ends after each last token of the template.
std::vector<int64_t> sentence_lengths(const std::vector<int64_t>& ids,
                                      const SequenceTemplate& around);

}  // namespace weft::data
