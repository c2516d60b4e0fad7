#pragma once

#include <string>
#include <string_view>

#include "data/tokenizer.h"

namespace weft::fuzz {

/// Loads the tokenizer and uses it in each way on a few texts.
void use_tokenizer(const std::string& path);

/// Encodes and decodes one text, and checks the result against the guarantees of tokenizers.
void use_tokenizer_on(const data::Tokenizer& tokenizer, std::string_view text);

}  // namespace weft::fuzz
