#pragma once

#include <string>
#include <vector>

#include "data/tokenizer_options.h"

namespace weft::data {

/// The codes of mBART's 25 languages (arXiv:2001.08210), as its tokenizer's class in transformers
/// has them in every vocabulary.
const std::vector<std::string>& mbart_codes();

/// These, and behind them the others that are named, each once. Throws data::Error for a code that
/// would also be found inside of words.
std::vector<std::string> mbart_codes(const LanguageCodes& languages);

}  // namespace weft::data
