#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/labelled_dataset.h"
#include "data/labels.h"
#include "data/rows/labelled_rows.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Ids of many texts, one after another.
struct IdList {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};

  int64_t size(int64_t text) const;
  void add(const int32_t* begin, int64_t count);
  /// Appends the ids of a text.
  void read(int64_t text, std::vector<int64_t>& ids) const;
};

/// Tokenises on all cores.
IdList tokenize(const TextList& texts, const Tokenizer& tokenizer);

/// One data item: its rows, tokenised and fitted to the length. Index by index the same in `first`,
/// `second`, `kept`, `classes`; `values` has `width` for each.
struct LabelledPart {
  std::string name;
  LabelledRows rows;
  std::optional<int64_t> language;  // its id, where the model tells languages apart
  IdList first;
  IdList second;               // empty where the rows have one text
  std::vector<int64_t> kept;   // which rows these are
  IdList classes;              // their numbers, rising; none for a regression
  std::vector<double> values;  // of a regression
  int64_t cut = 0;
  int64_t dropped = 0;
  int64_t empty = 0;
  int64_t unlabelled = 0;  // left out for want of a label, or, with multi_label, without any class
};

/// Fills all but `name`, `rows` and `language`; `room`: tokens that the texts may have, `width`:
/// numbers of a row of a regression. Throws data::Error naming the row: not one of the labels, not
/// a number, another count of numbers.
void fit_part(LabelledPart& part,
              const LabelledSettings& settings,
              int64_t room,
              int64_t width,
              const Labels& labels,
              const Tokenizer& tokenizer);

}  // namespace weft::data
