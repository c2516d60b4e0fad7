#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "formats/json.h"
#include "inference/attention_map.h"

namespace weft::cli {

/// Layers selected by `all`, `last` or `0,3` in a model with `layers` layers. Throws UsageError.
std::vector<int64_t> read_layers(const std::string& words, int64_t layers);

/// Adds `tokens`, for pairs `segments` (0 and 1), and `attention`: by layer number, for each head,
/// a row of weights for each token, rounded to six significant digits.
void add_attention(formats::Json& line,
                   const inference::AttentionMap& map,
                   const data::Tokenizer& tokenizer);

}  // namespace weft::cli
