#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer_options.h"

namespace weft::data {

/// Trains a GPT-2 style tokenizer: byte pair encoding over the bytes of words, so that no text
/// contains unknown tokens. Throws data::Error if `vocab_size` is smaller than the 256 bytes plus
/// the style's special tokens, or larger than the texts can fill.
std::shared_ptr<const Tokenizer> train_byte_level_tokenizer(const TokenizerOptions& options,
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report);

}  // namespace weft::data
