#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "data/tokenizers/pre_tokenizers/character_runs.h"
#include "data/tokenizers/pre_tokenizers/character_window.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

constexpr std::array<std::string_view, 7> kSuffixes = {"s", "t", "re", "ve", "m", "ll", "d"};

/// 's|'t|'re|'ve|'m|'ll|'d; 0: none of them.
std::size_t suffix_length(std::string_view text) {
  if (text.front() == '\'') {
    for (const std::string_view suffix : kSuffixes) {
      if (text.substr(1).starts_with(suffix)) {
        return 1 + suffix.size();
      }
    }
  }
  return 0;
}

/// The same in lower or upper case, with U+017F as another small s.
std::size_t suffix_length_any_case(std::string_view text) {
  if (text.front() != '\'') {
    return 0;
  }
  if (text.substr(1).starts_with("\u017F")) {
    return 1 + std::string_view("\u017F").size();
  }
  std::array<char, 3> lower{};
  for (std::size_t at = 0; at < std::min(lower.size(), text.size()); ++at) {
    const bool is_upper = text[at] >= 'A' && text[at] <= 'Z';
    lower[at] = static_cast<char>(is_upper ? text[at] + ('a' - 'A') : text[at]);
  }
  return suffix_length({lower.data(), std::min(lower.size(), text.size())});
}

/// Bytes at which a run of `characters` begins.
uint64_t begins_of(uint64_t characters) { return characters & ~(characters << 1); }

/// The pattern of GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct Gpt2Pattern {
  static std::size_t suffix(std::string_view text) { return suffix_length(text); }

  /// Where words begin in a window that begins with a word, without regard to suffixes.
  static uint64_t word_begins(const CharacterWindow& window) {
    const uint64_t visible = window.letters | window.numbers | window.others;
    const uint64_t runs =
        begins_of(window.letters) | begins_of(window.numbers) | begins_of(window.others);
    return (runs & ~(window.blanks << 1)) | begins_of(window.spaces) |
           (window.spaces & (visible >> 1));
  }

  /// From this byte of the window on, words depend on text far after the window.
  static std::size_t first_open(const CharacterWindow& window) { return window.size(); }

  /// End of a word without a suffix.
  static std::size_t end_of_word(const CharacterRuns& runs, std::size_t begin) {
    const std::size_t after_space = runs.byte(begin) == ' ' ? begin + 1 : begin;
    if (after_space < runs.size()) {
      const RunKind kind = runs.kind_at(after_space);
      if (kind != RunKind::kSpace) {
        return runs.end_of_run(after_space, kind);
      }
    }
    return runs.end_of_space(begin, runs.end_of_run(begin, RunKind::kSpace));
  }
};

/// The pattern of GPT-4: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
/// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <int digits>
struct Gpt4Pattern {
  static_assert(digits == 1 || digits == 3);

  static std::size_t suffix(std::string_view text) { return suffix_length_any_case(text); }

  static uint64_t word_begins(const CharacterWindow& window) {
    const uint64_t visible = window.letters | window.numbers | window.others;
    const uint64_t in_line = window.spaces & ~window.line_breaks;
    const uint64_t other_runs = begins_of(window.others) & ~(window.blanks << 1);
    // A sum carries from the begin of a run to the byte after the run.
    const uint64_t breaks_after_others = window.line_breaks & (window.others << 1);
    const uint64_t spaces =
        window.spaces & ~(window.line_breaks & ~(window.line_breaks + breaks_after_others));
    const uint64_t one_other = other_runs | (window.others & window.continuations);
    const uint64_t after_one_other = (one_other + other_runs) & ~one_other;
    return begins_of(spaces) | (in_line & (window.line_breaks << 1)) | (in_line & (visible >> 1)) |
           other_runs | begins_of_numbers(window.numbers) |
           (begins_of(window.letters) & ~(in_line << 1) & ~after_one_other);
  }

  /// White space belongs to a line break that follows in the same run of white space.
  static std::size_t first_open(const CharacterWindow& window) {
    const uint64_t known = CharacterWindow::first_bits(window.size());
    uint64_t open = window.spaces & ~window.line_breaks & (window.line_breaks >> 1);
    if (!window.is_last()) {
      open |= window.spaces & ~(known >> 1);
    }
    open &= known;
    if (open == 0) {
      return window.size();
    }
    const uint64_t before = (open & (~open + 1)) - 1;
    return static_cast<std::size_t>(64 - std::countl_zero(before & ~window.spaces));
  }

  static std::size_t end_of_word(const CharacterRuns& runs, std::size_t begin) {
    std::size_t next = begin;
    const RunKind kind = runs.next(next);
    if (kind == RunKind::kLetter) {
      return runs.end_of_run(next, RunKind::kLetter);
    }
    if (kind == RunKind::kNumber) {
      for (int more = 1; more < digits && next < runs.size(); ++more) {
        std::size_t after = next;
        if (runs.next(after) != RunKind::kNumber) {
          break;
        }
        next = after;
      }
      return next;
    }
    const bool has_next = next < runs.size();
    const RunKind next_kind = has_next ? runs.kind_at(next) : RunKind::kSpace;
    if (next_kind == RunKind::kLetter && !runs.is_line_break(begin)) {
      return runs.end_of_run(next, RunKind::kLetter);
    }
    if (kind == RunKind::kOther || (runs.byte(begin) == ' ' && next_kind == RunKind::kOther)) {
      std::size_t end = runs.end_of_run(kind == RunKind::kOther ? begin : next, RunKind::kOther);
      while (end < runs.size() && runs.is_line_break(end)) {
        ++end;
      }
      return end;
    }
    const std::size_t end = runs.end_of_run(begin, RunKind::kSpace);
    for (std::size_t last = end; last > begin; --last) {
      if (runs.is_line_break(last - 1)) {
        return last;
      }
    }
    return runs.end_of_space(begin, end);
  }

 private:
  static uint64_t begins_of_numbers(uint64_t numbers) {
    if constexpr (digits == 1) {
      return numbers;
    }
    uint64_t begins = 0;
    for (uint64_t next = begins_of(numbers); next != 0;
         next = (next << 3) & numbers & (numbers << 1) & (numbers << 2)) {
      begins |= next;
    }
    return begins;
  }
};

/// The begins of words, given those without regard to suffixes: a word that begins with a suffix
/// ends after it.
template <class Pattern>
uint64_t with_suffixes(uint64_t begins,
                       const CharacterWindow& window,
                       const CharacterRuns& runs,
                       std::size_t begin) {
  uint64_t candidates = begins & window.apostrophes & (window.letters >> 1);
  for (; candidates != 0; candidates &= candidates - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(candidates));
    const std::size_t end = at + Pattern::suffix(runs.from(begin + at));
    if (end > at) {
      begins &= CharacterWindow::first_bits(at + 1) | ~CharacterWindow::first_bits(end);
      begins |= CharacterWindow::first_bits(end + 1) & ~CharacterWindow::first_bits(end);
    }
  }
  return begins;
}

template <class Pattern>
std::size_t end_of_word(const CharacterRuns& runs, std::size_t begin) {
  const std::size_t suffix = Pattern::suffix(runs.from(begin));
  return suffix > 0 ? begin + suffix : Pattern::end_of_word(runs, begin);
}

/// Finds all words of a window at once; only a word that does not end in the window is read
/// character by character. The next window begins with the last word that was found, so it does not
/// matter that the text after a window may tell of another word at its last byte.
template <class Pattern>
void split_by(std::string_view text, TextRange range, std::vector<TextRange>& words) {
  text = text.substr(0, range.end);
  const CharacterRuns runs(text);
  for (std::size_t begin = range.begin; begin < range.end;) {
    const CharacterWindow window(text, begin);
    const std::size_t open = Pattern::first_open(window);
    const bool is_last = window.is_last() && open == window.size();
    uint64_t begins = with_suffixes<Pattern>(Pattern::word_begins(window) | 1, window, runs, begin);
    begins &= CharacterWindow::first_bits(open) & ~uint64_t{1};
    std::size_t word = begin;
    for (; begins != 0; begins &= begins - 1) {
      const std::size_t next = begin + static_cast<std::size_t>(std::countr_zero(begins));
      words.push_back({word, next});
      word = next;
    }
    if (is_last || word == begin) {
      const std::size_t end = is_last ? range.end : end_of_word<Pattern>(runs, begin);
      words.push_back({word, end});
      word = end;
    }
    begin = word;
  }
}

constexpr std::array<std::pair<std::string_view, SplitWords>, 3> kWordSplitters = {{
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     split_gpt2_words},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     split_by<Gpt4Pattern<3>>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     split_by<Gpt4Pattern<1>>},
}};

}  // namespace

void split_gpt2_words(std::string_view text, TextRange range, std::vector<TextRange>& words) {
  split_by<Gpt2Pattern>(text, range, words);
}

void split_words(Words& words, SplitWords split) {
  words.previous.swap(words.ranges);
  words.ranges.clear();
  for (const TextRange& range : words.previous) {
    split(words.text.view(), range, words.ranges);
  }
}

SplitWords find_word_splitter(std::string_view expression) {
  for (const auto& [known, split] : kWordSplitters) {
    if (known == expression) {
      return split;
    }
  }
  return nullptr;
}

}  // namespace weft::data
