#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/labelled_dataset.h"
#include "data/datasets/sentence_encoder.h"
#include "data/labels.h"
#include "data/rows/labelled_rows.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Concatenated ids of many texts.
struct RaggedIds {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};
  std::vector<uint8_t> shortened = {};  // 1 for texts of which `tokenize` has left something out

  int64_t size(int64_t text) const;
  void add(const int32_t* begin, int64_t count);
  /// Appends the ids of a text.
  void read(int64_t text, std::vector<int64_t>& ids) const;
};

/// Tokenises on all cores. `sentences`: null for texts that are not divided.
RaggedIds tokenize(const TextList& texts,
                   const Tokenizer& tokenizer,
                   const SentenceEncoder* sentences = nullptr);

/// One data item: its rows, tokenised and truncated. `first`, `second`, `kept` and `classes` have
/// one entry per kept row; `values` has `width` entries per row.
struct LabelledPart {
  std::string name;
  LabelledRows rows;
  std::optional<int64_t> language;  // language id, if the model uses language ids
  RaggedIds first;
  RaggedIds second;            // empty if the rows have one text
  std::vector<int64_t> kept;   // indices of the kept rows
  RaggedIds classes;           // class ids, ascending; none for a regression
  std::vector<double> values;  // regression targets
  int64_t truncated = 0;
  int64_t dropped = 0;
  int64_t empty = 0;
  int64_t unlabelled = 0;     // dropped for lack of a label
  int64_t without_class = 0;  // kept, with multi_label
};

/// Fills all but `name`, `rows` and `language`, with the rows that the item reads. `max_tokens`:
/// maximum tokens of the texts, `width`: values per row of a regression. Throws data::Error naming
/// the row: an unknown label, not a number, a wrong number of values.
void tokenize_and_truncate(LabelledPart& part,
                           const DataItem& item,
                           const LabelledSettings& settings,
                           int64_t max_tokens,
                           int64_t width,
                           const Labels& labels,
                           const Tokenizer& tokenizer);

}  // namespace weft::data
