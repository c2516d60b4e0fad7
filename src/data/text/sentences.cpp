#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <utf8proc.h>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/text/text_source.h"

namespace weft::data {

namespace {

template <std::size_t size>
bool is_one_of(char32_t code, const std::array<char32_t, size>& codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// ellipsis, Arabic question mark and full stop, danda, double danda, Ethiopic and Khmer full stops
constexpr std::array<char32_t, 10> kStops = {'.',    '!',    '?',    0x2026, 0x061F,
                                             0x06D4, 0x0964, 0x0965, 0x1362, 0x17D4};
// ideographic full stop, full-width exclamation and question marks and full stop, half-width
// ideographic full stop
constexpr std::array<char32_t, 5> kWideStops = {0x3002, 0xFF01, 0xFF1F, 0xFF0E, 0xFF61};

constexpr std::array<std::string_view, 40> kAbbreviations = {
    "mr",  "mrs",  "ms",   "dr",   "prof", "rev",  "hon", "st",     "mt",   "messrs",
    "mme", "mlle", "gen",  "col",  "capt", "lt",   "sgt", "maj",    "cmdr", "gov",
    "sen", "rep",  "pres", "supt", "insp", "e.g",  "i.e", "cf",     "vs",   "viz",
    "nos", "vol",  "vols", "pp",   "fig",  "figs", "eq",  "approx", "ca",   "al"};

bool is_sentence_space(char32_t code) {
  return code == ' ' || (code >= '\t' && code <= '\r') || code == 0xA0 || code == 0x3000;
}

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

/// Straight quotes both open and close.
bool is_straight_quote(char32_t code) { return code == '"' || code == '\''; }

bool closes(char32_t code) {
  const auto kind = category(code);
  return is_straight_quote(code) || kind == UTF8PROC_CATEGORY_PE || kind == UTF8PROC_CATEGORY_PF;
}

bool opens(char32_t code) {
  const auto kind = category(code);
  return is_straight_quote(code) || kind == UTF8PROC_CATEGORY_PS || kind == UTF8PROC_CATEGORY_PI;
}

bool begins_sentence(char32_t code) {
  const auto kind = category(code);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LT ||
         kind == UTF8PROC_CATEGORY_LO;
}

/// Whether the text ends in a word that includes its full stop.
bool ends_in_abbreviation(std::string_view text) {
  constexpr std::size_t kLongest = 8;
  constexpr std::string_view kBefore = " \t\"'([{-";
  // The search is bounded: else lines without spaces would take quadratic time.
  text = text.substr(text.size() - std::min(text.size(), kLongest + 1));
  const auto before = text.find_last_of(kBefore);
  std::string word(before == std::string_view::npos ? text : text.substr(before + 1));
  if (word.empty() || word.size() > kLongest) {
    return false;
  }
  const auto last_part = std::string_view(word).substr(word.rfind('.') + 1);
  if (utf8::count(last_part) == 1) {
    std::size_t at = 0;
    const auto kind = category(utf8::next(last_part, at));
    if (kind == UTF8PROC_CATEGORY_LU && word != "I") {
      return true;  // an initial
    }
  }
  for (char& c : word) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return std::find(kAbbreviations.begin(), kAbbreviations.end(), word) != kAbbreviations.end();
}

/// Skips code points that satisfy the condition; returns the first that does not (0 at the end).
template <class Condition>
char32_t skip(std::string_view text, std::size_t& at, const Condition& condition) {
  while (at < text.size()) {
    std::size_t next_position = at;
    const char32_t code = utf8::next(text, next_position);
    if (!condition(code)) {
      return code;
    }
    at = next_position;
  }
  return 0;
}

/// Whether a sentence ends with the stop at [stop, at). Always moves `at` past the following stops
/// and closing marks, as none of them can end another sentence.
bool ends_sentence(std::string_view line, std::size_t stop, std::size_t& at) {
  bool is_wide = false;
  at = stop;
  skip(line, at, [&](char32_t code) {
    const bool is_wide_stop = is_one_of(code, kWideStops);
    is_wide = is_wide || is_wide_stop;
    return is_wide_stop || is_one_of(code, kStops) || closes(code);
  });
  if (is_wide) {
    return true;
  }
  std::size_t next = at;
  if (!is_sentence_space(skip(line, next, [](char32_t) { return false; }))) {
    return false;
  }
  skip(line, next, is_sentence_space);
  return begins_sentence(skip(line, next, opens)) &&
         !(line[stop] == '.' && ends_in_abbreviation(line.substr(0, stop)));
}

}  // namespace

void visit_sentences(std::string_view line,
                     SentenceBoundary boundary,
                     const std::function<void(std::string_view)>& visit) {
  if (boundary == SentenceBoundary::kNone) {
    if (!line.empty()) {
      visit(line);
    }
    return;
  }
  line = trim(line);
  std::size_t begin = 0;
  if (boundary == SentenceBoundary::kPunctuation) {
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t stop = at;
      const auto byte = static_cast<unsigned char>(line[at]);
      if (byte < 0x80 && byte != '.' && byte != '!' && byte != '?') {
        ++at;  // the most common case
        continue;
      }
      const char32_t code = utf8::next(line, at);
      if (!is_one_of(code, kStops) && !is_one_of(code, kWideStops)) {
        continue;
      }
      if (ends_sentence(line, stop, at)) {
        if (const auto sentence = trim(line.substr(begin, at - begin)); !sentence.empty()) {
          visit(sentence);
        }
        begin = at;
      }
    }
  }
  if (const auto rest = trim(line.substr(begin)); !rest.empty()) {
    visit(rest);
  }
}

}  // namespace weft::data
