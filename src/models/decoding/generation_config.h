#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/config/options.h"
#include "models/decoding/search_options.h"

namespace weft::models {

/// How a model's directory wants texts to be generated: its generation_config.json, where there is
/// none (older directories) the same keys of config.json.
struct GenerationConfig {
  SearchOptions search;
  std::optional<int64_t> most_new;  // tokens
  std::optional<int64_t> most_all;  // with the prompt
  std::optional<int64_t> least_new;
  std::optional<int64_t> least_all;
  int64_t start_id = -1;            // what the decoder of an encoder-decoder begins with
  std::vector<std::string> unused;  // keys that would change what comes, and are not known
};

/// Throws formats::Error naming file, key and what is allowed.
GenerationConfig read_generation_config(const std::string& directory, const ModelOptions& model);

/// The prompt's bounds by the config: new tokens at most and at least, never more than the model's
/// length leaves room for.
void set_bounds(Prompt& prompt, const GenerationConfig& config, const ModelOptions& model);

}  // namespace weft::models
