#pragma once

#include <cstdint>
#include <string>

#include "formats/json.h"

namespace weft::data {

// The small files beside a tokenizer's pieces.

/// No file of a tokenizer may be larger, in bytes.
inline constexpr int64_t kLargestTokenizerFile = int64_t{256} << 20;

/// The object in a JSON file; an empty one where there is no such file. Throws data::Error.
formats::Json object_in(const std::string& path);

/// tokenizer_config.json, filled up by special_tokens_map.json. Throws data::Error.
formats::Json tokenizer_config_in(const std::string& directory);

/// Tokenizer::cuts_begin as tokenizer_config.json has it, else the direction of tokenizer.json.
/// Throws data::Error at `place`.
bool cuts_begin(const formats::Json& config,
                const formats::Json& document,
                const std::string& place);

/// Writes tokenizer_config.json and, of what it says, special_tokens_map.json. `max_length`:
/// model_max_length. Throws FileError.
void save_tokenizer_config(const formats::Json& config,
                           int64_t max_length,
                           const std::string& directory);

}  // namespace weft::data
