#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"

namespace weft::data {

/// What is wrong with the language that a text is said to have, for a model that tells these apart;
/// nothing where it is one of them.
std::optional<std::string> language_mistake(std::string_view language,
                                            const std::vector<std::string>& known);

/// The id of the language that `key` of a data item names, or nothing where the model tells no
/// languages apart. Throws data::Error that begins with `place`.
std::optional<int64_t> language_id(std::string_view language,
                                   const std::vector<std::string>& known,
                                   std::string_view place,
                                   std::string_view key = "language");

/// Says that all tokens of the example are of one language.
void set_language(Example& example, int64_t id);

}  // namespace weft::data
