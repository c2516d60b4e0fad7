#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/aligned_text.h"
#include "data/tokenizers/json_fields.h"

namespace weft::data {

/// A `pattern` of a tokenizer.json: a plain text or a regular expression, as Oniguruma reads those
/// that tokenizers use: classes, `\p{..}`, groups, alternatives, look-ahead, greedy and lazy
/// repetition, `(?i:`. What else there is (look-behind, back references, possessive repetition) is
/// refused by name.
class Pattern {
 public:
  /// A field `{"String": ..}` or `{"Regex": ..}`. Throws data::Error.
  explicit Pattern(const JsonFields& fields);

  /// Steps that all searches in one text may take together: patterns that go back and forth for
  /// ever are refused.
  static int64_t steps_for(std::string_view text);
  /// The first match in text[from, end), empty ones not counted; what stands around counts for
  /// look-ahead and anchors. Takes its steps off `left`; throws data::Error where none are left.
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
    int32_t first = 0;   // set; preferred branch; target; where a look-ahead's program begins
    int32_t second = 0;  // other branch; where the program goes on after a look-ahead
    bool is_negated = false;
  };

 private:
  std::optional<std::size_t> match_at(std::string_view text,
                                      std::size_t at,
                                      int32_t start,
                                      int64_t& left) const;

  std::string literal_;  // where the pattern is a plain text
  std::vector<Set> sets_;
  std::vector<Instruction> program_;
};

/// The parts of a text between and at matches.
struct PatternPart {
  TextRange range;
  bool is_match = false;
};
/// Calls visit(part) for each part in order, or gives them all.
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
std::vector<PatternPart> parts_of(const Pattern& pattern, std::string_view text);

}  // namespace weft::data
