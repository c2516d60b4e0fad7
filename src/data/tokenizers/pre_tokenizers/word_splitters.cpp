#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

enum class RunKind : uint8_t { kLetter, kNumber, kSpace, kOther };

RunKind run_kind(char32_t code) {
  if (is_white_space(code)) {
    return RunKind::kSpace;
  }
  const uint8_t classes = classes_of(code);
  if ((classes & kIsLetter) != 0) {
    return RunKind::kLetter;
  }
  return (classes & kIsNumber) != 0 ? RunKind::kNumber : RunKind::kOther;
}

const std::array<RunKind, 128>& ascii_run_kinds() {
  static const std::array<RunKind, 128> kKinds = [] {
    std::array<RunKind, 128> result{};
    for (std::size_t byte = 0; byte < result.size(); ++byte) {
      result[byte] = run_kind(static_cast<char32_t>(byte));
    }
    return result;
  }();
  return kKinds;
}

/// The kinds of the characters of a text, and where runs of one kind end.
class CharacterRuns {
 public:
  explicit CharacterRuns(std::string_view text) : text_(text), ascii_(ascii_run_kinds()) {}

  std::size_t size() const { return text_.size(); }
  char byte(std::size_t at) const { return text_[at]; }
  bool is_line_break(std::size_t at) const { return text_[at] == '\r' || text_[at] == '\n'; }
  std::string_view from(std::size_t at) const { return text_.substr(at); }

  /// Kind of the character at `at`, which is moved past it.
  RunKind next(std::size_t& at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) {
      ++at;
      return ascii_[byte];
    }
    return run_kind(utf8::next(text_, at));
  }

  RunKind kind_at(std::size_t at) const { return next(at); }

  /// End of the characters of `kind` from `begin` on.
  std::size_t end_of_run(std::size_t begin, RunKind kind) const {
    for (std::size_t end = begin;;) {
      if (kind == RunKind::kLetter) {
        end = end_of_ascii_letters(end);
      }
      std::size_t at = end;
      if (at == text_.size() || next(at) != kind) {
        return end;
      }
      end = at;
    }
  }

  /// \s+(?!\S)|\s+: if a word follows, the last white space character is left for it.
  std::size_t end_of_space(std::size_t begin, std::size_t end) const {
    if (end == text_.size()) {
      return end;
    }
    const std::size_t last = utf8::begin_of_last(text_.substr(0, end));
    return last > begin ? last : end;
  }

 private:
  /// Looks at eight bytes at once; near the end of the text it may stop early.
  std::size_t end_of_ascii_letters(std::size_t at) const {
    constexpr uint64_t kOnes = 0x0101010101010101U;
    constexpr uint64_t kHighBits = 0x80 * kOnes;
    if constexpr (std::endian::native == std::endian::little) {
      for (; at + 8 <= text_.size(); at += 8) {
        uint64_t bytes = 0;
        std::memcpy(&bytes, text_.data() + at, 8);
        const uint64_t lower = (bytes | (0x20 * kOnes)) & ~kHighBits;
        const uint64_t from_a = lower + (0x80 - 'a') * kOnes;
        const uint64_t after_z = lower + (0x7F - 'z') * kOnes;
        const uint64_t others = ~(from_a & ~after_z & ~bytes) & kHighBits;
        if (others != 0) {
          return at + static_cast<std::size_t>(std::countr_zero(others)) / 8;
        }
      }
    }
    return at;
  }

  std::string_view text_;
  const std::array<RunKind, 128>& ascii_;
};

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

std::size_t end_of_gpt2_word(const CharacterRuns& runs, std::size_t begin) {
  if (runs.byte(begin) == '\'') {
    if (const std::size_t suffix = suffix_length(runs.from(begin)); suffix > 0) {
      return begin + suffix;
    }
  }
  const std::size_t after_space = runs.byte(begin) == ' ' ? begin + 1 : begin;
  if (after_space < runs.size()) {
    const RunKind kind = runs.kind_at(after_space);
    if (kind != RunKind::kSpace) {
      return runs.end_of_run(after_space, kind);
    }
  }
  return runs.end_of_space(begin, runs.end_of_run(begin, RunKind::kSpace));
}

/// The pattern of GPT-4: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
/// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <int digits>
std::size_t end_of_gpt4_word(const CharacterRuns& runs, std::size_t begin) {
  if (runs.byte(begin) == '\'') {
    if (const std::size_t suffix = suffix_length_any_case(runs.from(begin)); suffix > 0) {
      return begin + suffix;
    }
  }
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

template <std::size_t (*end_of_word)(const CharacterRuns&, std::size_t)>
void split_by(std::string_view text, TextRange range, std::vector<TextRange>& words) {
  const CharacterRuns runs(text.substr(0, range.end));
  for (std::size_t begin = range.begin; begin < range.end;) {
    const std::size_t end = end_of_word(runs, begin);
    words.push_back({begin, end});
    begin = end;
  }
}

constexpr std::array<std::pair<std::string_view, SplitWords>, 3> kWordSplitters = {{
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     split_gpt2_words},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     split_by<end_of_gpt4_word<3>>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     split_by<end_of_gpt4_word<1>>},
}};

}  // namespace

void split_gpt2_words(std::string_view text, TextRange range, std::vector<TextRange>& words) {
  split_by<end_of_gpt2_word>(text, range, words);
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
