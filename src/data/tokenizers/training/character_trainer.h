#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer_options.h"

namespace weft::data {

/// A tokenizer whose pieces are the characters of the texts, each a token of its own, in the order
/// of their code points behind the special ones. Where there are more than vocab_size, the rarest
/// are unknown. The line feed is one of them in any case.
std::shared_ptr<const Tokenizer> train_character_tokenizer(const TokenizerOptions& options,
                                                           SpecialStyle style,
                                                           const std::vector<std::string>& texts);

}  // namespace weft::data
