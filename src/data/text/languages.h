#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"

namespace weft::data {

/// Returns the error message for an invalid language of a text, for a model with language ids;
/// nullopt if the language is known.
std::optional<std::string> language_error(std::string_view language,
                                          const std::vector<std::string>& known);

/// Returns the id of the language that `key` of a data item names; nullopt if the model has no
/// language ids. Throws data::Error that begins with `location`.
std::optional<int64_t> language_id(std::string_view language,
                                   const std::vector<std::string>& known,
                                   std::string_view location,
                                   std::string_view key = "language");

/// Assigns the language to all tokens of the example.
void set_language(Example& example, int64_t id);

}  // namespace weft::data
