#include "data/text/text_words.h"

#include <algorithm>
#include <string>

#include "base/codepoints.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

/// Code points [begin, end) of a text.
struct TextWordStretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_punctuation(char32_t code) { return (classes_of(code) & kIsPunctuation) != 0; }
bool is_apostrophe(char32_t code) { return code == '\'' || code == 0x2019; }

/// Whether the final full stop belongs to the word.
bool is_abbreviation(const std::u32string& text, const TextWordStretch& word) {
  return text[word.end - 1] == '.' && word.end - word.begin > 2 &&
         std::find(text.begin() + static_cast<std::ptrdiff_t>(word.begin),
                   text.begin() + static_cast<std::ptrdiff_t>(word.end - 1),
                   U'.') != text.begin() + static_cast<std::ptrdiff_t>(word.end - 1);
}

/// Splits a white-space-delimited word from its punctuation.
void split_word(const std::u32string& text,
                TextWordStretch word,
                std::vector<TextWordStretch>& out) {
  while (word.begin < word.end && is_punctuation(text[word.begin])) {
    out.push_back({word.begin, word.begin + 1});
    ++word.begin;
  }
  std::vector<TextWordStretch> after;  // in reverse order
  while (word.begin < word.end && is_punctuation(text[word.end - 1]) &&
         !is_abbreviation(text, word)) {
    after.push_back({word.end - 1, word.end});
    --word.end;
  }
  const bool has_s =
      word.end - word.begin > 2 && text[word.end - 1] == 's' && is_apostrophe(text[word.end - 2]);
  if (has_s) {
    after.push_back({word.end - 2, word.end});
    word.end -= 2;
  }
  if (word.begin < word.end) {
    out.push_back(word);
  }
  out.insert(out.end(), after.rbegin(), after.rend());
}

}  // namespace

std::vector<TextWord> split_words(std::string_view text) {
  const std::u32string codes = utf8::decode(text);
  std::vector<TextWordStretch> found;
  for (std::size_t at = 0; at < codes.size();) {
    if (is_white_space(codes[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < codes.size() && !is_white_space(codes[end])) {
      ++end;
    }
    split_word(codes, {at, end}, found);
    at = end;
  }
  std::vector<TextWord> words;
  for (const TextWordStretch& word : found) {
    words.push_back(
        {.text = utf8::encode(std::u32string_view(codes).substr(word.begin, word.end - word.begin)),
         .begin = static_cast<int64_t>(word.begin),
         .end = static_cast<int64_t>(word.end)});
  }
  return words;
}

std::vector<TextWord> join_words(const std::vector<std::string>& words) {
  std::vector<TextWord> joined;
  int64_t begin = 0;
  for (const std::string& word : words) {
    const int64_t end = begin + utf8::count(word);
    joined.push_back({.text = word, .begin = begin, .end = end});
    begin = end + 1;
  }
  return joined;
}

std::vector<int64_t> chunk_words(const std::vector<int32_t>& pieces, int64_t max_tokens) {
  std::vector<int64_t> ends;
  int64_t used = 0;
  int64_t begin = 0;
  for (int64_t word = 0; word < static_cast<int64_t>(pieces.size()); ++word) {
    const int64_t more = pieces[static_cast<std::size_t>(word)];
    if (word > begin && used + more > max_tokens) {
      ends.push_back(word);
      begin = word;
      used = 0;
    }
    used += more;
  }
  if (!pieces.empty()) {
    ends.push_back(static_cast<int64_t>(pieces.size()));
  }
  return ends;
}

WordEncoder::WordEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  std::vector<int32_t> bare;
  std::vector<int32_t> spaced;
  tokenizer.encode("a", bare);
  tokenizer.encode(" a", spaced);
  adds_space_ = bare != spaced;
}

void WordEncoder::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const auto known = adds_space_ ? tokenizer_.id(word) : std::nullopt;
  if (!adds_space_ || word.empty() || word.front() == ' ' ||
      (known && tokenizer_.is_special(*known))) {
    return tokenizer_.encode(word, ids);
  }
  tokenizer_.encode(" " + std::string(word), ids);
}

}  // namespace weft::data
