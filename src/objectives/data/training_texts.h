#pragma once

#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/tokenizer_options.h"
#include "models/config/options.h"

namespace weft::objectives {

/// The texts that a run trains on.
struct TrainingTexts {
  const data::DataOptions& data;
  const models::ModelOptions& model;
};

/// Whether any of the items names a source or a target.
bool names_pairs(const std::vector<data::DataItem>& items);

/// Languages named by the items of the data. `source` and `target`: of items that name none; empty:
/// none.
data::LanguageCodes language_codes_of(const data::DataOptions& options,
                                      const std::string& source = {},
                                      const std::string& target = {});

}  // namespace weft::objectives
