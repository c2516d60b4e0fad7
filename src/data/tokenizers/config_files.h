#pragma once

#include <cstdint>
#include <string>

#include "formats/json.h"

namespace weft::data {

// The small config files of a tokenizer directory.

/// Maximum size of any tokenizer file, in bytes.
inline constexpr int64_t kLargestTokenizerFile = int64_t{256} << 20;

/// Reads the object of a JSON file; empty if there is no such file. Throws data::Error.
formats::Json read_json_object(const std::string& path);

/// Reads tokenizer_config.json, completed by special_tokens_map.json. Throws data::Error.
formats::Json read_tokenizer_config(const std::string& directory);

/// Tokenizer::truncates_left from tokenizer_config.json, else from the direction in tokenizer.json.
/// Throws data::Error at `location`.
bool truncates_left(const formats::Json& config,
                    const formats::Json& document,
                    const std::string& location);

/// Writes tokenizer_config.json and, derived from it, special_tokens_map.json. `max_length`:
/// model_max_length. Throws FileError.
void save_tokenizer_config(const formats::Json& config,
                           int64_t max_length,
                           const std::string& directory);

}  // namespace weft::data
