#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/pre_tokenizers/pattern.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

constexpr std::array<std::pair<std::string_view, Behavior>, 5> kBehaviors = {{
    {"Removed", Behavior::kRemoved},
    {"Isolated", Behavior::kIsolated},
    {"MergedWithPrevious", Behavior::kMergedWithPrevious},
    {"MergedWithNext", Behavior::kMergedWithNext},
    {"Contiguous", Behavior::kContiguous},
}};

Behavior read_behavior(const JsonFields& fields) {
  return fields.choose("behavior", fields.text("behavior"), kBehaviors);
}

/// Returns the matches of a text and the parts between them.
using FindParts = std::function<std::vector<PatternPart>(std::string_view text)>;

/// Splits at matches.
class Split : public PreTokenizer {
 public:
  Split(FindParts find, Behavior behavior, bool is_inverted = false)
      : find_(std::move(find)), behavior_(behavior), is_inverted_(is_inverted) {}

  void apply(Words& words) const override {
    std::vector<TextRange> ranges;
    for (const TextRange& word : words.ranges) {
      std::vector<PatternPart> parts =
          find_(words.text.view().substr(word.begin, word.end - word.begin));
      for (PatternPart& part : parts) {
        part.is_match = part.is_match != is_inverted_;
      }
      for (const TextRange& range : merged(parts)) {
        ranges.push_back({word.begin + range.begin, word.begin + range.end});
      }
    }
    words.ranges = std::move(ranges);
  }

 private:
  std::vector<TextRange> merged(const std::vector<PatternPart>& parts) const {
    std::vector<TextRange> result;
    bool was_match = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const PatternPart& part = parts[i];
      const bool is_first = i == 0;
      const bool joins =
          !is_first &&
          ((behavior_ == Behavior::kMergedWithPrevious && part.is_match && !was_match) ||
           (behavior_ == Behavior::kMergedWithNext && was_match && !part.is_match) ||
           (behavior_ == Behavior::kContiguous && part.is_match == was_match));
      if (joins) {
        result.back().end = part.range.end;
      } else if (!(behavior_ == Behavior::kRemoved && part.is_match)) {
        result.push_back(part.range);
      }
      was_match = part.is_match;
    }
    return result;
  }

  FindParts find_;
  Behavior behavior_;
  bool is_inverted_;
};

/// Splits at the matches of a well-known expression, which cover the text.
class WellKnownSplit : public PreTokenizer {
 public:
  explicit WellKnownSplit(SplitWords split) : split_(split) {}

  void apply(Words& words) const override { split_words(words, split_); }

 private:
  SplitWords split_;
};

FindParts matches_of(const JsonFields& fields) {
  return [pattern = Pattern(fields)](std::string_view text) { return pattern.split(text); };
}

/// Each code point of the kind is a separate match.
template <class IsKind>
FindParts code_points(const IsKind& is_kind) {
  return [is_kind](std::string_view text) {
    std::vector<PatternPart> parts;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const bool is_match = is_kind(utf8::next(text, at));
      if (!is_match && !parts.empty() && !parts.back().is_match) {
        parts.back().range.end = at;
      } else {
        parts.push_back({{begin, at}, is_match});
      }
    }
    return parts;
  };
}

FindParts code_points_of(CodepointClass wanted) {
  return code_points([wanted](char32_t code) { return (classes_of(code) & wanted) != 0; });
}

/// A word character as in Rust's \w, whose numbers are decimal digits, and which includes joiners.
bool is_in_word(char32_t code) {
  constexpr std::u32string_view kFractions = U"\u00B2\u00B3\u00B9\u00BC\u00BD\u00BE";
  const bool is_joiner = code == 0x200C || code == 0x200D;
  return is_joiner ||
         ((classes_of(code) & kIsWord) != 0 && kFractions.find(code) == std::u32string_view::npos);
}

/// \w+|[^\w\s]+ are parts, white space counts as a match.
std::vector<PatternPart> words_and_punctuation(std::string_view text) {
  std::vector<PatternPart> parts;
  bool was_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t code = utf8::next(text, at);
    const bool is_space = is_white_space(code);
    const bool is_word = !is_space && is_in_word(code);
    if (!parts.empty() && parts.back().is_match == is_space && was_word == is_word) {
      parts.back().range.end = at;
    } else {
      parts.push_back({{begin, at}, is_space});
    }
    was_word = is_word;
  }
  return parts;
}

}  // namespace

std::unique_ptr<PreTokenizer> make_split(const JsonFields& fields) {
  const JsonFields pattern = fields.fields("pattern");
  const Behavior behavior = read_behavior(fields);
  const bool is_inverted = fields.boolean("invert", false);
  const bool keeps_matches =
      behavior == Behavior::kIsolated || (behavior == Behavior::kRemoved && is_inverted);
  if (keeps_matches && pattern.has("Regex")) {
    if (const SplitWords split = find_word_splitter(pattern.text("Regex"))) {
      return std::make_unique<WellKnownSplit>(split);
    }
  }
  return std::make_unique<Split>(matches_of(pattern), behavior, is_inverted);
}

std::unique_ptr<PreTokenizer> make_digits(const JsonFields& fields) {
  const bool is_single = fields.boolean("individual_digits", false);
  return std::make_unique<Split>(code_points_of(kIsNumber),
                                 is_single ? Behavior::kIsolated : Behavior::kContiguous);
}

std::unique_ptr<PreTokenizer> make_punctuation(const JsonFields& fields) {
  return std::make_unique<Split>(code_points_of(kIsPunctuation), fields.has("behavior")
                                                                     ? read_behavior(fields)
                                                                     : Behavior::kIsolated);
}

std::unique_ptr<PreTokenizer> make_delimiter_split(const JsonFields& fields) {
  const std::string delimiter = fields.text("delimiter");
  std::size_t end = 0;
  const char32_t wanted = delimiter.empty() ? U'\0' : utf8::next(delimiter, end);
  if (delimiter.empty() || end != delimiter.size()) {
    fields.fail("delimiter", "must be one character");
  }
  return std::make_unique<Split>(code_points([wanted](char32_t code) { return code == wanted; }),
                                 Behavior::kRemoved);
}

std::unique_ptr<PreTokenizer> make_whitespace(const JsonFields&) {
  return std::make_unique<Split>(words_and_punctuation, Behavior::kRemoved);
}

}  // namespace weft::data
