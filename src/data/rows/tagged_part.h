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

/// Words of one sequence and their pieces.
struct TaggedSequence {
  int64_t first_word = 0;
  int64_t words = 0;
  int64_t first_piece = 0;
  int64_t pieces = 0;  // the last word's may have been cut
};

/// One data item: its sentences, tokenised and fitted to the length.
struct TaggedPart {
  std::string name;
  TaggedRows rows;
  std::optional<int64_t> language;  // its id, where the model tells languages apart
  std::vector<int32_t> ids;         // of all words
  std::vector<int32_t> counts;      // pieces of each word
  std::vector<int32_t> tags;        // id of each word's tag
  std::vector<TaggedSequence> sequences;
  int64_t cut = 0;
  int64_t cut_words = 0;  // of which no piece was kept
  int64_t split = 0;
  int64_t dropped = 0;
  int64_t empty = 0;      // sentences without a piece
  int64_t no_pieces = 0;  // words without one
};

/// Tags of all parts in order, where none are known.
std::vector<std::string> labels_of_tags(const std::vector<TaggedPart>& parts);

/// Fills all but `name`, `rows` and `language`; `room`: pieces that a sequence may have. Throws
/// data::Error naming the word: not one of the tags.
void fit_part(TaggedPart& part,
              const TaggedSettings& settings,
              int64_t room,
              const Labels& labels,
              const Tokenizer& tokenizer);

}  // namespace weft::data
