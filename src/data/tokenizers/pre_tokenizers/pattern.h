#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/aligned_text.h"
#include "data/tokenizers/json_fields.h"

namespace weft::data {

/// A `pattern` of a tokenizer.json: a plain text or a regular expression in the subset of
/// Oniguruma's syntax that tokenizers use: classes, `\p{..}`, groups, alternatives, look-ahead,
/// greedy and lazy repetition, `(?i:`. Other constructs (look-behind, back references, possessive
/// repetition) are rejected by name.
class Pattern {
 public:
  /// A field `{"String": ..}` or `{"Regex": ..}`. Throws data::Error.
  explicit Pattern(const JsonFields& fields);

  /// Step budget for all searches in one text: patterns with runaway backtracking are rejected.
  static int64_t steps_for(std::string_view text);
  /// First non-empty match in text[from, end); look-ahead and anchors see the surrounding text.
  /// Subtracts its steps from `left`; throws data::Error if the budget is exhausted.
  std::optional<TextRange> find(std::string_view text, std::size_t from, int64_t& left) const;

  struct SetItem {
    char32_t first = 1, last = 0;  // a range, or
    uint8_t classes = 0;           // CodepointClass bits, or
    char category[2] = {0, 0};     // a general category (second 0: the whole group), or
    bool is_space = false;         // \s
    bool is_negated = false;
  };
  struct Set {
    std::vector<SetItem> items;
    bool is_negated = false;
    bool ignores_case = false;
  };
  enum class Operation : uint8_t { kSet, kSplit, kJump, kLook, kBegin, kEnd, kMatch };
  struct Instruction {
    Operation operation = Operation::kMatch;
    int32_t first = 0;   // set; preferred branch; target; start of a look-ahead's program
    int32_t second = 0;  // other branch; continuation after a look-ahead
    bool is_negated = false;
  };

 private:
  std::optional<std::size_t> match_at(std::string_view text,
                                      std::size_t at,
                                      int32_t start,
                                      int64_t& left) const;

  std::string literal_;  // if the pattern is a plain text
  std::vector<Set> sets_;
  std::vector<Instruction> program_;
};

/// A match, or the text between two matches.
struct PatternPart {
  TextRange range;
  bool is_match = false;
};
/// visit_parts calls visit(part) for each part in order; split_by_pattern returns all of them.
template <class Visit>
void visit_parts(const Pattern& pattern, std::string_view text, const Visit& visit) {
  std::size_t done = 0;
  int64_t left = Pattern::steps_for(text);
  while (const std::optional<TextRange> found = pattern.find(text, done, left)) {
    if (found->begin > done) {
      visit(PatternPart{{done, found->begin}, false});
    }
    visit(PatternPart{*found, true});
    done = found->end;
  }
  if (done < text.size()) {
    visit(PatternPart{{done, text.size()}, false});
  }
}
std::vector<PatternPart> split_by_pattern(const Pattern& pattern, std::string_view text);

}  // namespace weft::data
