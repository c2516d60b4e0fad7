#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer_options.h"

namespace weft::data {

/// Trains GPT-2's kind of tokenizer: byte pair encoding over the bytes of words, so that no text
/// has unknown parts. Throws data::Error where `vocab_size` is below the 256 bytes and the style's
/// special tokens, or above what the texts give.
std::shared_ptr<const Tokenizer> train_byte_level_tokenizer(const TokenizerOptions& options,
                                                            SpecialStyle style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report);

}  // namespace weft::data
