#pragma once

#include <string>
#include <vector>

#include "data/tokenizer_options.h"

namespace weft::data {

/// Codes of mBART's 25 languages (arXiv:2001.08210), which its tokenizer class in transformers adds
/// to every vocabulary.
const std::vector<std::string>& mbart_language_codes();

/// These codes, followed by the other ones in `languages`, without duplicates. Throws data::Error
/// for a code that would also match inside words.
std::vector<std::string> mbart_language_codes(const LanguageCodes& languages);

}  // namespace weft::data
