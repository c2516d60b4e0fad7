#include "data/tokenizers/pre_tokenizers/pattern.h"

#include <algorithm>
#include <utility>

#include <utf8proc.h>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/pre_tokenizers/pattern_compiler.h"

namespace weft::data {

namespace {

constexpr int64_t kMaxSteps = 1'000'000;
constexpr int64_t kStepsPerByte = 256;
constexpr std::size_t kBranchesPerByte = 8;  // limit on pending branches, in addition to kMaxSteps

bool holds(const Pattern::SetItem& item, char32_t code) {
  bool found = false;
  if (item.is_space) {
    found = is_white_space(code);
  } else if (item.classes != 0) {
    found = (classes_of(code) & item.classes) != 0;
  } else if (item.category[0] != 0) {
    const char* category = utf8proc_category_string(static_cast<utf8proc_int32_t>(code));
    found = category[0] == item.category[0] &&
            (item.category[1] == 0 || category[1] == item.category[1]);
  } else {
    found = code >= item.first && code <= item.last;
  }
  return found != item.is_negated;
}

bool holds(const Pattern::Set& set, char32_t code) {
  const auto has = [&](char32_t c) {
    return std::any_of(set.items.begin(), set.items.end(),
                       [&](const Pattern::SetItem& item) { return holds(item, c); });
  };
  bool found = has(code);
  if (!found && set.ignores_case) {
    const auto upper = static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
    // U+017F and U+212A fold to `s` and `k`, according to Unicode's simple case folding.
    found = has(lower_case(code)) || has(upper) || (upper != code && has(lower_case(upper)));
  }
  return found != set.is_negated;
}

}  // namespace

Pattern::Pattern(const JsonFields& fields) {
  if (fields.has("String")) {
    literal_ = fields.text("String");
    if (literal_.empty()) {
      fields.fail("String", "must not be empty");
    }
    return;
  }
  const std::string expression = fields.text("Regex");
  PatternCompiler compiler(expression, fields, "Regex");
  compiler.compile();
  sets_ = std::move(compiler.sets);
  program_ = std::move(compiler.program);
}

std::optional<std::size_t> Pattern::match_at(std::string_view text,
                                             std::size_t at,
                                             int32_t start,
                                             int64_t& left) const {
  struct State {
    int32_t instruction;
    std::size_t at;
  };
  std::vector<State> branches = {{start, at}};
  const std::size_t max_branches = kMaxSteps + kBranchesPerByte * (text.size() - at);
  while (!branches.empty()) {
    State state = branches.back();
    branches.pop_back();
    for (bool goes_on = true; goes_on;) {
      if (--left < 0 || branches.size() > max_branches) {
        throw Error("a regular expression of the tokenizer takes too long on a text");
      }
      const Instruction& instruction = program_[static_cast<std::size_t>(state.instruction)];
      switch (instruction.operation) {
        case Operation::kSet:
          goes_on =
              state.at < text.size() &&
              holds(sets_[static_cast<std::size_t>(instruction.first)], utf8::next(text, state.at));
          ++state.instruction;
          break;
        case Operation::kSplit:
          branches.push_back({instruction.second, state.at});
          state.instruction = instruction.first;
          break;
        case Operation::kJump:
          state.instruction = instruction.first;
          break;
        case Operation::kLook:
          goes_on = match_at(text, state.at, instruction.first, left).has_value() !=
                    instruction.is_negated;
          state.instruction = instruction.second;
          break;
        case Operation::kBegin:
          goes_on = state.at == 0;
          ++state.instruction;
          break;
        case Operation::kEnd:
          goes_on = state.at == text.size();
          ++state.instruction;
          break;
        case Operation::kMatch:
          return state.at;
      }
    }
  }
  return std::nullopt;
}

int64_t Pattern::steps_for(std::string_view text) {
  return kMaxSteps + kStepsPerByte * static_cast<int64_t>(text.size());
}

std::optional<TextRange> Pattern::find(std::string_view text,
                                       std::size_t from,
                                       int64_t& left) const {
  if (!literal_.empty()) {
    const std::size_t found = text.find(literal_, from);
    return found == std::string_view::npos
               ? std::nullopt
               : std::optional(TextRange{found, found + literal_.size()});
  }
  for (std::size_t at = from; at < text.size(); utf8::next(text, at)) {
    const std::optional<std::size_t> end = match_at(text, at, 0, left);
    if (end && *end > at) {
      return TextRange{at, *end};
    }
  }
  return std::nullopt;
}

std::vector<PatternPart> split_by_pattern(const Pattern& pattern, std::string_view text) {
  std::vector<PatternPart> parts;
  visit_parts(pattern, text, [&](const PatternPart& part) { parts.push_back(part); });
  return parts;
}

}  // namespace weft::data
