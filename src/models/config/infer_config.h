#pragma once

#include <string>

#include "formats/json.h"

namespace weft::models {

/// config.json of trimmed directories, with missing details of the head inferred from the tensors:
/// architectures, number of labels. Whatever cannot be inferred stays absent.
formats::Json with_inferred_head(formats::Json json, const std::string& directory);

/// The same for old directories that do not name their family: model_type is inferred from the
/// class, else from the tensors' names. Only `weft import` may guess.
formats::Json with_inferred_family_and_head(formats::Json json, const std::string& directory);

}  // namespace weft::models
