#pragma once

#include <cstdint>
#include <vector>

#include "data/fold.h"
#include "data/rows/labelled_part.h"
#include "data/tokenizer_options.h"

namespace weft::data {

/// The fold, from 0, of each row. Rows of one class are dealt out in an order that the seed
/// decides, so that every fold has its share of each class and the folds differ by at most one row.
std::vector<int64_t> deal_folds(const std::vector<int64_t>& classes, int64_t count, uint64_t seed);

/// The fold, from 0, of each row of a data item; -1: it is left out for want of a label. Rows count
/// as of the class that is their first; those of a regression are all of one. What falls where does
/// not depend on a tokenizer. Throws data::Error for fewer rows than folds.
std::vector<int64_t> folds_of_rows(const LabelledRows& rows,
                                   const LabelForm& form,
                                   const Fold& fold);

/// Leaves the rows that the fold asks for.
void keep_fold(LabelledPart& part, const LabelForm& form, const Fold& fold, int64_t width);

/// Visits the texts of all rows but those of the held-out fold: what a tokenizer of such a run may
/// see.
void visit_texts_outside(const Fold& fold,
                         const std::vector<DataItem>& items,
                         const LabelForm& form,
                         const TextVisitor& visit);

}  // namespace weft::data
