#pragma once

#include <memory>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/language_dataset.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Translation language modelling (arXiv:1901.07291, section 3.3): a text and its translation in
/// one sequence with masks in both, so that a word hidden in one may be found in the other. For
/// XLM each half is a sequence of its own, its places begin anew and its types are its language;
/// for others the halves are a pair as the tokenizer makes one, with places that go on. Pairs too
/// long are cut, the longer text first, or left out. Throws data::Error as
/// open_parallel_text.
std::shared_ptr<const Dataset> make_translation_dataset(const std::vector<DataItem>& items,
                                                        const DataOptions& options,
                                                        const LanguageSettings& settings,
                                                        const Tokenizer& tokenizer,
                                                        const ProgressVisitor& progress = {});

}  // namespace weft::data
