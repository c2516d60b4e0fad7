#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "formats/json.h"
#include "inference/attention_map.h"

namespace weft::cli {

/// The layers that `all`, `last` or `0,3` names, of a model with this many. Throws UsageError.
std::vector<int64_t> read_layers(const std::string& words, int64_t layers);

/// Adds `tokens`, for pairs `segments` (0 and 1), and `attention`: for each layer by its number,
/// for each head, a row of weights for each token, rounded to six digits.
void add_attention(formats::Json& line,
                   const inference::AttentionMap& map,
                   const data::Tokenizer& tokenizer);

}  // namespace weft::cli
