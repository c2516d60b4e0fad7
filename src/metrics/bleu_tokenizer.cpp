#include "metrics/bleu_tokenizer.h"

#include <array>
#include <utility>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "metrics/mecab.h"

namespace weft::metrics {
namespace {

using BleuTokenText = std::u32string;
using BleuTokenView = std::u32string_view;

BleuTokenText replace_all(BleuTokenView text, BleuTokenView from, BleuTokenView to) {
  BleuTokenText result;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, from.size()) == from) {
      result += to;
      at += from.size();
    } else {
      result += text[at++];
    }
  }
  return result;
}

bool is_digit(char32_t code) { return code >= U'0' && code <= U'9'; }
bool is_stop(char32_t code) { return code == U'.' || code == U','; }

/// ASCII punctuation that is always split off; apostrophe, comma, hyphen and full stop are not.
bool is_separate_punctuation(char32_t code) {
  return (code >= U'{' && code <= U'~') || (code >= U'[' && code <= U'`') ||
         (code >= U' ' && code <= U'&') || (code >= U'(' && code <= U'+') ||
         (code >= U':' && code <= U'@') || code == U'/';
}

/// Replaces each adjacent pair that `matches`, left to right without overlap, by the output of
/// `write`.
template <class Matches, class Write>
BleuTokenText replace_pairs(BleuTokenView text, const Matches& matches, const Write& write) {
  BleuTokenText result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (at + 1 < text.size() && matches(text[at], text[at + 1])) {
      write(result, text[at], text[at + 1]);
      at += 2;
    } else {
      result += text[at++];
    }
  }
  return result;
}

template <class Matches>
BleuTokenText separate_second(BleuTokenView text, const Matches& matches) {
  return replace_pairs(text, matches, [](BleuTokenText& out, char32_t a, char32_t b) {
    out += {a, U' ', b, U' '};
  });
}

template <class Matches>
BleuTokenText separate_first(BleuTokenView text, const Matches& matches) {
  return replace_pairs(text, matches, [](BleuTokenText& out, char32_t a, char32_t b) {
    out += {U' ', a, U' ', b};
  });
}

template <class Matches>
BleuTokenText separate_each(BleuTokenView text, const Matches& matches) {
  BleuTokenText result;
  for (const auto code : text) {
    if (matches(code)) {
      result += {U' ', code, U' '};
    } else {
      result += code;
    }
  }
  return result;
}

/// Rules for Western languages, shared by 13a and zh.
BleuTokenText tokenize_western(BleuTokenView line) {
  auto text = separate_each(line, is_separate_punctuation);
  text = separate_second(text, [](auto a, auto b) { return !is_digit(a) && is_stop(b); });
  text = separate_first(text, [](auto a, auto b) { return is_stop(a) && !is_digit(b); });
  return separate_second(text, [](auto a, auto b) { return is_digit(a) && b == U'-'; });
}

BleuTokenText mteval_v13a(BleuTokenView line) {
  auto text = replace_all(line, U"<skipped>", U"");
  text = replace_all(text, U"-\n", U"");
  text = replace_all(text, U"\n", U" ");
  constexpr std::array<std::pair<BleuTokenView, BleuTokenView>, 4> kEntities{
      {{U"&quot;", U"\""}, {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}}};
  for (const auto& [entity, character] : kEntities) {
    text = replace_all(text, entity, character);
  }
  return tokenize_western(U" " + text + U" ");
}

BleuTokenText mteval_v14(BleuTokenView line) {
  const auto is_number = [](auto code) { return kind_of(code) == CharacterKind::kNumber; };
  const auto is_punctuation = [](auto code) {
    return kind_of(code) == CharacterKind::kPunctuation;
  };
  auto text =
      separate_second(line, [&](auto a, auto b) { return !is_number(a) && is_punctuation(b); });
  text = separate_first(text, [&](auto a, auto b) { return is_punctuation(a) && !is_number(b); });
  return separate_each(text, [](auto code) { return kind_of(code) == CharacterKind::kSymbol; });
}

/// Whether sacreBLEU treats the character as Chinese. It writes two ranges with five hexadecimal
/// digits where Python reads four, which gives the ranges below that start at 2001 and 2F81. They
/// are kept so that scores are equal.
bool is_chinese(char32_t code) {
  constexpr std::array<std::pair<char32_t, char32_t>, 22> kRanges{{
      {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
      {0xFA70, 0xFAD9}, {0x2001, 0x2A6D}, {0x2F81, 0x2FA1}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF},
      {0x3000, 0x303F}, {0x31C0, 0x31EF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F},
      {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0x2600, 0x26FF}, {0x2700, 0x27BF},
      {0x3200, 0x32FF}, {0x3300, 0x33FF},
  }};
  for (const auto& [first, last] : kRanges) {
    if (code >= first && code <= last) {
      return true;
    }
  }
  return false;
}

BleuTokenText tokenize(BleuTokenView line, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return mteval_v13a(line);
    case BleuTokenizer::kInternational:
      return mteval_v14(line);
    case BleuTokenizer::kCharacters:
      return separate_each(line, [](auto) { return true; });
    case BleuTokenizer::kChinese:
      return tokenize_western(separate_each(line, is_chinese));
    case BleuTokenizer::kJapanese:
      return utf8::decode(Mecab::instance().tokenize(utf8::encode(line)));
    case BleuTokenizer::kNone:
      return BleuTokenText(line);
  }
  return {};
}

}  // namespace

const std::vector<std::pair<std::string_view, BleuTokenizer>>& bleu_tokenizers() {
  static const std::vector<std::pair<std::string_view, BleuTokenizer>> table{
      {"13a", BleuTokenizer::k13a},           {"intl", BleuTokenizer::kInternational},
      {"char", BleuTokenizer::kCharacters},   {"zh", BleuTokenizer::kChinese},
      {"ja-mecab", BleuTokenizer::kJapanese}, {"none", BleuTokenizer::kNone}};
  return table;
}

std::string signature_of(BleuTokenizer tokenizer) {
  std::string signature;
  for (const auto& [word, value] : bleu_tokenizers()) {
    if (value == tokenizer) {
      signature = word;
    }
  }
  return tokenizer == BleuTokenizer::kJapanese ? signature + "-" + Mecab::instance().signature()
                                               : signature;
}

std::vector<std::u32string> split_at_space(std::u32string_view text) {
  std::vector<std::u32string> words;
  bool is_open = false;
  for (const auto code : text) {
    if (is_python_space(code)) {
      is_open = false;
      continue;
    }
    if (!is_open) {
      words.emplace_back();
      is_open = true;
    }
    words.back() += code;
  }
  return words;
}

std::vector<std::string> bleu_tokenize(std::string_view line, BleuTokenizer tokenizer) {
  BleuTokenText text = utf8::decode(line);
  while (!text.empty() && is_python_space(text.back())) {
    text.pop_back();
  }
  if (tokenizer == BleuTokenizer::kChinese || tokenizer == BleuTokenizer::kJapanese) {
    std::size_t begin = 0;
    while (begin < text.size() && is_python_space(text[begin])) {
      ++begin;
    }
    text.erase(0, begin);
  }
  std::vector<std::string> words;
  for (const auto& word : split_at_space(tokenize(text, tokenizer))) {
    words.push_back(utf8::encode(word));
  }
  return words;
}

}  // namespace weft::metrics
