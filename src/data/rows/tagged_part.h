#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/tagged_dataset.h"
#include "data/labels.h"
#include "data/rows/tagged_rows.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Words of one sequence and their pieces; or sentences of a document, whose pieces are all their
/// tokens.
struct TaggedSequence {
  int64_t first_word = 0;
  int64_t words = 0;
  int64_t first_piece = 0;
  int64_t pieces = 0;  // those of the last word may be truncated
};

/// One data item: its sentences, or documents of sentences, tokenised and truncated.
struct TaggedPart {
  std::string name;
  TaggedRows rows;
  std::optional<int64_t> language;  // language id, if the model uses language ids
  std::vector<int32_t> ids;         // of all words; of documents those of their sequences
  std::vector<int32_t> counts;      // pieces of each word; 0: a sentence that was left out
  std::vector<int32_t> tags;        // id of each word's tag
  std::vector<TaggedSequence> sequences;
  int64_t truncated = 0;
  int64_t truncated_words = 0;  // words without any kept piece, or sentences left out
  int64_t split = 0;
  int64_t dropped = 0;
  int64_t empty = 0;                 // sentences without pieces
  int64_t words_without_pieces = 0;  // words that the tokenizer maps to no piece
};

/// Collects the tags of all parts in order, for a model without known tags.
std::vector<std::string> collect_tag_labels(const std::vector<TaggedPart>& parts);

/// Whether `labels` has the tags of all parts.
bool has_all_tags(const Labels& labels, const std::vector<TaggedPart>& parts);

/// Sets the tags. Throws data::Error naming the word: an unknown tag.
void read_tags(TaggedPart& part, const Labels& labels);

/// Fills all but `name`, `rows`, `language` and `tags`; the sequences are those of the sentences
/// that the item reads. `max_tokens`: maximum pieces of a sequence.
void tokenize_and_truncate(TaggedPart& part,
                           const DataItem& item,
                           const TaggedSettings& settings,
                           int64_t max_tokens,
                           const Tokenizer& tokenizer);

/// The same for documents of sentences, with the limits of the settings. Those that are too long
/// are truncated or dropped.
void tokenize_documents(TaggedPart& part,
                        const DataItem& item,
                        const TaggedSettings& settings,
                        const SentenceEncoder& encoder);

}  // namespace weft::data
