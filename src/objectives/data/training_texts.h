#pragma once

#include <cstdint>

#include "data/data_options.h"
#include "data/fold.h"
#include "data/label_form.h"
#include "data/tokenizer_options.h"
#include "objectives/options.h"

namespace weft::objectives {

/// Format of the labels in the data.
data::LabelFormat label_format(const ObjectiveOptions& objective, const data::DataOptions& options);

/// The fold that the run holds out; count is 0 if the data have no folds.
data::Fold fold_of_run(const data::DataOptions& options, uint64_t seed);

/// Whether examples are pairs of a source and a target; for objectives that also accept plain
/// texts, whether an item names either.
bool reads_pairs(const ObjectiveOptions& objective, const data::DataOptions& options);

/// Languages named by the data and the objective, for a tokenizer with language tokens: that of the
/// sources, of the targets if these have only one, and all others.
data::LanguageCodes language_codes(const ObjectiveOptions& objective,
                                   const data::DataOptions& options);

/// Visits the texts that the run trains on, as seen by a tokenizer trained on them: a held-out fold
/// is not included.
void visit_training_texts(const ObjectiveOptions& objective,
                          const data::DataOptions& options,
                          uint64_t seed,
                          const data::TextVisitor& visit);

}  // namespace weft::objectives
