#pragma once

#include <cstdint>
#include <vector>

#include "data/rows/labelled_part.h"
#include "data/tokenizer_options.h"

namespace weft::data {

/// Returns the fold of each row, counted from 0. Stratified: rows of each class are dealt out in an
/// order keyed by the seed, so class frequencies match and fold sizes differ by at most one row.
std::vector<int64_t> assign_folds(const std::vector<int64_t>& classes,
                                  int64_t count,
                                  uint64_t seed);

/// Returns the fold of each row of a data item, counted from 0; -1: dropped because it has no
/// label. Rows are stratified by their first class; regression rows all count as one class. The
/// assignment does not depend on a tokenizer. Throws data::Error for fewer rows than folds.
std::vector<int64_t> assign_row_folds(const LabelledRows& rows,
                                      const LabelFormat& label_format,
                                      const Fold& fold);

/// Keeps only the rows that the fold selects.
void filter_fold(LabelledPart& part,
                 const LabelFormat& label_format,
                 const Fold& fold,
                 int64_t width);

/// Visits the texts of all rows except those of the held-out fold: the texts that may be used to
/// train the tokenizer of such a run.
void visit_texts_excluding_fold(const Fold& fold,
                                const std::vector<DataItem>& items,
                                const LabelFormat& label_format,
                                const TextVisitor& visit);

}  // namespace weft::data
