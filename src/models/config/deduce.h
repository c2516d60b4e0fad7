#pragma once

#include <string>

#include "formats/json.h"

namespace weft::models {

/// config.json of trimmed directories, with what it does not say of the head filled in from the
/// tensors beside it: architectures, number of labels. What cannot be told stays out.
formats::Json with_head(formats::Json json, const std::string& directory);

/// The same for old directories that do not name their family either: model_type is told by the
/// class, else guessed by the tensors' names. Only `weft import` may guess.
formats::Json with_family_and_head(formats::Json json, const std::string& directory);

}  // namespace weft::models
