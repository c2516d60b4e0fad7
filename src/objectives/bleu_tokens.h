#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::objectives {

/// How BLEU cuts a line into words, under the names of sacreBLEU.
enum class BleuTokens {
  k13a,            // mteval-v13a: punctuation of ASCII apart, but inside numbers
  kInternational,  // mteval-v14: punctuation and symbols of all scripts
  kCharacters,     // each character
  kChinese,        // Chinese characters each apart, the rest as k13a
  kNone,           // at white space alone
};

/// `13a`, `intl`, `char`, `zh`, `none`.
std::string_view word_of(BleuTokens tokens);
const std::vector<std::pair<std::string_view, BleuTokens>>& bleu_tokens();

/// The words of a line. Ill-formed UTF-8 is read as U+FFFD.
std::vector<std::string> bleu_words(std::string_view line, BleuTokens tokens);

/// Parts between white space, none of them empty, as Python's `str.split` gives them.
std::vector<std::u32string> split_at_space(std::u32string_view text);

}  // namespace weft::objectives
