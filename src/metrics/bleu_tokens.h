#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// How BLEU cuts a line into words, under the names of sacreBLEU.
enum class BleuTokens {
  k13a,            // mteval-v13a: punctuation of ASCII apart, but inside numbers
  kInternational,  // mteval-v14: punctuation and symbols of all scripts
  kCharacters,     // each character
  kChinese,        // Chinese characters each apart, the rest as k13a
  kJapanese,       // words of the IPA dictionary, see objectives/mecab.h
  kNone,           // at white space alone
};

/// `13a`, `intl`, `char`, `zh`, `ja-mecab`, `none`.
const std::vector<std::pair<std::string_view, BleuTokens>>& bleu_tokens();

/// Its name in sacreBLEU's signatures, with the versions that its words depend on. Throws as
/// bleu_words.
std::string signature_of(BleuTokens tokens);

/// The words of a line. Ill-formed UTF-8 is read as U+FFFD. Throws UserError where words of
/// Japanese need what is not installed.
std::vector<std::string> bleu_words(std::string_view line, BleuTokens tokens);

/// Parts between white space, none of them empty, as Python's `str.split` gives them.
std::vector<std::u32string> split_at_space(std::u32string_view text);

}  // namespace weft::metrics
