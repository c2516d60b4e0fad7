#pragma once

#include <memory>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/language_dataset.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Translation language modelling (arXiv:1901.07291, section 3.3): a text and its translation in
/// one sequence with masks in both, so that a masked word can be inferred from the other text. For
/// XLM each half is a sequence of its own with positions that restart and its language as type; for
/// others the halves are a pair from the tokenizer's template with continuous positions. Pairs that
/// are too long are truncated, the longer text first, or dropped. Throws data::Error like
/// open_parallel_text.
std::shared_ptr<const Dataset> make_translation_dataset(const std::vector<DataItem>& items,
                                                        const DataOptions& options,
                                                        const LanguageSettings& settings,
                                                        const Tokenizer& tokenizer,
                                                        const ProgressVisitor& progress = {});

}  // namespace weft::data
