#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/config/options.h"
#include "models/decoding/search_options.h"

namespace weft::models {

/// Generation settings of a model directory: its generation_config.json or, without one (older
/// directories), the same keys of config.json.
struct GenerationConfig {
  SearchOptions search;
  std::optional<int64_t> max_new_tokens;  // tokens
  std::optional<int64_t> max_length;      // including the prompt
  std::optional<int64_t> min_new_tokens;
  std::optional<int64_t> min_length;
  int64_t decoder_start_id = -1;  // first decoder token of an encoder-decoder
  std::vector<std::string>
      unsupported_keys;  // keys that would change the output but are not supported
};

/// Throws formats::Error naming file, key and what is allowed.
GenerationConfig read_generation_config(const std::string& directory, const ModelOptions& model);

/// Sets the prompt's minimum and maximum number of new tokens from the config, limited by the
/// model's length.
void set_length_limits(Prompt& prompt, const GenerationConfig& config, const ModelOptions& model);

}  // namespace weft::models
