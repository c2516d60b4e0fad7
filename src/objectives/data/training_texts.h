#pragma once

#include <cstdint>

#include "data/data_options.h"
#include "data/fold.h"
#include "data/label_form.h"
#include "data/tokenizer_options.h"
#include "objectives/options.h"

namespace weft::objectives {

/// How the labels of the data are written.
data::LabelForm label_form(const ObjectiveOptions& objective, const data::DataOptions& options);

/// The fold of which the run learns all others; of count 0 where the data have none.
data::Fold fold_of_run(const data::DataOptions& options, uint64_t seed);

/// Whether the examples are made of pairs of a source and a target: of objectives that may do with
/// plain texts, where an item names either.
bool reads_pairs(const ObjectiveOptions& objective, const data::DataOptions& options);

/// The languages that the data and the objective name, for a tokenizer with tokens for them: that
/// of the sources, of the targets where these have but one, and all others.
data::LanguageCodes language_codes(const ObjectiveOptions& objective,
                                   const data::DataOptions& options);

/// Visits the texts that the run learns from, as a tokenizer trained on them may see them: a fold
/// that is held out is not among them.
void visit_training_texts(const ObjectiveOptions& objective,
                          const data::DataOptions& options,
                          uint64_t seed,
                          const data::TextVisitor& visit);

}  // namespace weft::objectives
