#include "metrics/bleu_tokens.h"

#include <array>
#include <utility>

#include "base/character_kind.h"
#include "base/utf8.h"
#include "metrics/mecab.h"

namespace weft::metrics {
namespace {

using BleuTokenText = std::u32string;
using BleuTokenView = std::u32string_view;

BleuTokenText replaced(BleuTokenView text, BleuTokenView from, BleuTokenView to) {
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

/// Signs of ASCII that always stand apart; the apostrophe, comma, hyphen and full stop do not.
bool is_apart(char32_t code) {
  return (code >= U'{' && code <= U'~') || (code >= U'[' && code <= U'`') ||
         (code >= U' ' && code <= U'&') || (code >= U'(' && code <= U'+') ||
         (code >= U':' && code <= U'@') || code == U'/';
}

/// Replaces each pair of neighbours that `matches`, left to right without overlap, by what
/// `write(a, b)` gives.
template <class Matches, class Write>
BleuTokenText pairs_replaced(BleuTokenView text, const Matches& matches, const Write& write) {
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
BleuTokenText with_second_apart(BleuTokenView text, const Matches& matches) {
  return pairs_replaced(text, matches, [](BleuTokenText& out, char32_t a, char32_t b) {
    out += {a, U' ', b, U' '};
  });
}

template <class Matches>
BleuTokenText with_first_apart(BleuTokenView text, const Matches& matches) {
  return pairs_replaced(text, matches, [](BleuTokenText& out, char32_t a, char32_t b) {
    out += {U' ', a, U' ', b};
  });
}

template <class Matches>
BleuTokenText with_each_apart(BleuTokenView text, const Matches& matches) {
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

/// The part for languages of the West that 13a and zh share.
BleuTokenText western(BleuTokenView line) {
  auto text = with_each_apart(line, is_apart);
  text = with_second_apart(text, [](auto a, auto b) { return !is_digit(a) && is_stop(b); });
  text = with_first_apart(text, [](auto a, auto b) { return is_stop(a) && !is_digit(b); });
  return with_second_apart(text, [](auto a, auto b) { return is_digit(a) && b == U'-'; });
}

BleuTokenText mteval13(BleuTokenView line) {
  auto text = replaced(line, U"<skipped>", U"");
  text = replaced(text, U"-\n", U"");
  text = replaced(text, U"\n", U" ");
  constexpr std::array<std::pair<BleuTokenView, BleuTokenView>, 4> kEntities{
      {{U"&quot;", U"\""}, {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}}};
  for (const auto& [entity, sign] : kEntities) {
    text = replaced(text, entity, sign);
  }
  return western(U" " + text + U" ");
}

BleuTokenText mteval14(BleuTokenView line) {
  const auto is_number = [](auto code) { return kind_of(code) == CharacterKind::kNumber; };
  const auto is_sign = [](auto code) { return kind_of(code) == CharacterKind::kPunctuation; };
  auto text = with_second_apart(line, [&](auto a, auto b) { return !is_number(a) && is_sign(b); });
  text = with_first_apart(text, [&](auto a, auto b) { return is_sign(a) && !is_number(b); });
  return with_each_apart(text, [](auto code) { return kind_of(code) == CharacterKind::kSymbol; });
}

/// What sacreBLEU takes for Chinese. Two of its ranges are written with five hexadecimal digits
/// where Python reads four, which makes them the ranges below that begin at 2001 and 2F81; figures
/// are to be equal, so they stay.
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

BleuTokenText cut(BleuTokenView line, BleuTokens tokens) {
  switch (tokens) {
    case BleuTokens::k13a:
      return mteval13(line);
    case BleuTokens::kInternational:
      return mteval14(line);
    case BleuTokens::kCharacters:
      return with_each_apart(line, [](auto) { return true; });
    case BleuTokens::kChinese:
      return western(with_each_apart(line, is_chinese));
    case BleuTokens::kJapanese:
      return utf8::decode(Mecab::loaded().cut(utf8::encode(line)));
    case BleuTokens::kNone:
      return BleuTokenText(line);
  }
  return {};
}

}  // namespace

const std::vector<std::pair<std::string_view, BleuTokens>>& bleu_tokens() {
  static const std::vector<std::pair<std::string_view, BleuTokens>> table{
      {"13a", BleuTokens::k13a},           {"intl", BleuTokens::kInternational},
      {"char", BleuTokens::kCharacters},   {"zh", BleuTokens::kChinese},
      {"ja-mecab", BleuTokens::kJapanese}, {"none", BleuTokens::kNone}};
  return table;
}

std::string signature_of(BleuTokens tokens) {
  std::string signature;
  for (const auto& [word, value] : bleu_tokens()) {
    if (value == tokens) {
      signature = word;
    }
  }
  return tokens == BleuTokens::kJapanese ? signature + "-" + Mecab::loaded().signature()
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

std::vector<std::string> bleu_words(std::string_view line, BleuTokens tokens) {
  BleuTokenText text = utf8::decode(line);
  while (!text.empty() && is_python_space(text.back())) {
    text.pop_back();
  }
  if (tokens == BleuTokens::kChinese || tokens == BleuTokens::kJapanese) {
    std::size_t begin = 0;
    while (begin < text.size() && is_python_space(text[begin])) {
      ++begin;
    }
    text.erase(0, begin);
  }
  std::vector<std::string> words;
  for (const auto& word : split_at_space(cut(text, tokens))) {
    words.push_back(utf8::encode(word));
  }
  return words;
}

}  // namespace weft::metrics
