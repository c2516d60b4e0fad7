#pragma once

#include <string_view>
#include <vector>

#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

/// Appends the words of `range`, which cover it.
using SplitWords = void (*)(std::string_view text, TextRange range, std::vector<TextRange>& words);

/// Splits like GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void split_gpt2_words(std::string_view text, TextRange range, std::vector<TextRange>& words);

/// Splits each range.
void split_words(Words& words, SplitWords split);

/// The function that splits exactly as this regular expression, ten times as fast; null unless it
/// is one of the well-known expressions of GPT-2, GPT-4, Llama 3 and Qwen.
SplitWords find_word_splitter(std::string_view expression);

}  // namespace weft::data
