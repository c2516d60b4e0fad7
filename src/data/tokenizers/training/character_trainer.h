#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer_options.h"

namespace weft::data {

/// Builds a tokenizer with one token per character of the texts, in code point order after the
/// special tokens. If there are more than vocab_size, the rarest become unknown. The line feed is
/// always included.
std::shared_ptr<const Tokenizer> train_character_tokenizer(const TokenizerOptions& options,
                                                           TokenizerTemplate style,
                                                           const std::vector<std::string>& texts);

}  // namespace weft::data
