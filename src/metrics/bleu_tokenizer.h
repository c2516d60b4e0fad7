#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// Tokenizers for BLEU, with sacreBLEU's names.
enum class BleuTokenizer {
  k13a,            // mteval-v13a: splits ASCII punctuation, except inside numbers
  kInternational,  // mteval-v14: splits Unicode punctuation and symbols
  kCharacters,     // every character is a token
  kChinese,        // splits each Chinese character, the rest as k13a
  kJapanese,       // words of the IPA dictionary, see metrics/mecab.h
  kNone,           // splits at white space only
};

/// `13a`, `intl`, `char`, `zh`, `ja-mecab`, `none`.
const std::vector<std::pair<std::string_view, BleuTokenizer>>& bleu_tokenizers();

/// Returns its name in sacreBLEU signatures, with the versions that affect the tokens. Throws like
/// bleu_tokenize.
std::string signature_of(BleuTokenizer tokenizer);

/// Returns the tokens of a line. Ill-formed UTF-8 is read as U+FFFD. Throws UserError if Japanese
/// is requested and MeCab or its dictionary is not installed.
std::vector<std::string> bleu_tokenize(std::string_view line, BleuTokenizer tokenizer);

/// Splits at white space, without empty parts, like Python's `str.split`.
std::vector<std::u32string> split_at_space(std::u32string_view text);

}  // namespace weft::metrics
