#include "data/tokenizers/pre_tokenizers/pattern_compiler.h"

#include <utility>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

using Operation = Pattern::Operation;
using SetItem = Pattern::SetItem;

constexpr std::size_t kMaxProgramSize = 20'000;
constexpr int kMaxDepth = 50;
constexpr int64_t kMaxRepetitions = 1000;

SetItem one(char32_t code) { return {.first = code, .last = code}; }

}  // namespace

PatternCompiler::PatternCompiler(std::string_view expression,
                                 const JsonFields& fields,
                                 std::string_view key)
    : expression_(expression), fields_(fields), key_(key) {}

void PatternCompiler::fail(std::string_view message) const {
  fields_.fail(key_, str_cat("'", printable(expression_), "' at ", at_, ": ", message));
}

int32_t PatternCompiler::push(Operation operation, int32_t first, int32_t second) {
  if (program.size() >= kMaxProgramSize) {
    fail("the pattern is too large");
  }
  program.push_back({.operation = operation, .first = first, .second = second});
  return static_cast<int32_t>(program.size()) - 1;
}

bool PatternCompiler::accept(std::string_view what) {
  if (!expression_.substr(at_).starts_with(what)) {
    return false;
  }
  at_ += what.size();
  return true;
}

char32_t PatternCompiler::take() {
  if (is_done()) {
    fail("the pattern ends unexpectedly");
  }
  return utf8::next(expression_, at_);
}

void PatternCompiler::compile() {
  alternatives();
  if (!is_done()) {
    fail("')' without '('");
  }
  push(Operation::kMatch);
}

void PatternCompiler::alternatives() {
  if (++depth_ > kMaxDepth) {
    fail("nested too deeply");
  }
  std::vector<int32_t> ends;
  std::size_t begin = program.size();
  sequence();
  while (accept("|")) {
    // split begin, next; ... jump end; next: ...
    const std::vector<Pattern::Instruction> before(
        program.begin() + static_cast<std::ptrdiff_t>(begin), program.end());
    program.resize(begin);
    const int32_t split = push(Operation::kSplit);
    insert_copy(before, begin);
    ends.push_back(push(Operation::kJump));
    program[static_cast<std::size_t>(split)].first = split + 1;
    program[static_cast<std::size_t>(split)].second = static_cast<int32_t>(program.size());
    begin = program.size();
    sequence();
  }
  for (const int32_t end : ends) {
    program[static_cast<std::size_t>(end)].first = static_cast<int32_t>(program.size());
  }
  --depth_;
}

/// Appends instructions from position `from`, with relocated targets. They never jump out of their
/// own range, which is complete when it is copied.
void PatternCompiler::insert_copy(const std::vector<Pattern::Instruction>& piece,
                                  std::size_t from) {
  const auto shift = static_cast<int32_t>(program.size()) - static_cast<int32_t>(from);
  for (Pattern::Instruction instruction : piece) {
    switch (instruction.operation) {
      case Operation::kSplit:
      case Operation::kLook:
        instruction.second += shift;
        [[fallthrough]];
      case Operation::kJump:
        instruction.first += shift;
        break;
      case Operation::kSet:
      case Operation::kBegin:
      case Operation::kEnd:
      case Operation::kMatch:
        break;
    }
    const int32_t at = push(instruction.operation, instruction.first, instruction.second);
    program[static_cast<std::size_t>(at)].is_negated = instruction.is_negated;
  }
}

void PatternCompiler::sequence() {
  while (!is_done() && peek() != '|' && peek() != ')') {
    const std::size_t begin = program.size();
    atom();
    repeat(begin, repetition());
  }
}

void PatternCompiler::atom() {
  if (peek() == '(') {
    group();
  } else if (peek() == '[') {
    set();
  } else if (peek() == '\\') {
    escape_in_pattern();
  } else if (accept("^")) {
    push(Operation::kBegin);
  } else if (accept("$")) {
    push(Operation::kEnd);
  } else if (accept(".")) {
    push_set({.items = {one('\n')}, .is_negated = true});
  } else if (peek() == '*' || peek() == '+' || peek() == '?') {
    fail("nothing to repeat");
  } else {
    push_set({.items = {one(take())}});
  }
}

void PatternCompiler::group() {
  const bool before = ignores_case_;
  accept("(");
  if (accept("?=")) {
    look_ahead(false);
  } else if (accept("?!")) {
    look_ahead(true);
  } else {
    if (accept("?i:")) {
      ignores_case_ = true;
    } else if (!accept("?:") && peek() == '?') {
      fail("this kind of group is not supported");
    }
    alternatives();
  }
  if (!accept(")")) {
    fail("'(' without ')'");
  }
  ignores_case_ = before;
}

void PatternCompiler::look_ahead(bool is_negated) {
  const int32_t look = push(Operation::kLook);
  alternatives();
  push(Operation::kMatch);
  Pattern::Instruction& result = program[static_cast<std::size_t>(look)];
  result.first = look + 1;
  result.second = static_cast<int32_t>(program.size());
  result.is_negated = is_negated;
}

void PatternCompiler::push_set(Pattern::Set result) {
  result.ignores_case = ignores_case_;
  sets.push_back(std::move(result));
  push(Operation::kSet, static_cast<int32_t>(sets.size()) - 1);
}

void PatternCompiler::escape_in_pattern() { push_set({.items = {escape()}}); }

void PatternCompiler::set() {
  Pattern::Set result;
  accept("[");
  result.is_negated = accept("^");
  do {
    if (peek() == '[' || accept("&&")) {
      fail("nested character classes are not supported");
    }
    SetItem item = set_item();
    const bool is_range =
        peek() == '-' && at_ + 1 < expression_.size() && expression_[at_ + 1] != ']';
    if (is_range && item.first == item.last) {
      accept("-");
      const SetItem last = set_item();
      if (last.first != last.last || last.first < item.first) {
        fail("not a valid range");
      }
      item.last = last.last;
    }
    result.items.push_back(item);
  } while (peek() != ']' && !is_done());
  if (!accept("]")) {
    fail("'[' without ']'");
  }
  push_set(std::move(result));
}

SetItem PatternCompiler::set_item() { return peek() == '\\' ? escape() : one(take()); }

SetItem PatternCompiler::escape() {
  accept("\\");
  const char32_t code = take();
  switch (code) {
    case 's':
      return {.is_space = true};
    case 'S':
      return {.is_space = true, .is_negated = true};
    case 'd':
      return {.category = {'N', 'd'}};
    case 'D':
      return {.category = {'N', 'd'}, .is_negated = true};
    case 'w':
      return {.classes = kIsWord};
    case 'W':
      return {.classes = kIsWord, .is_negated = true};
    case 'p':
      return category(false);
    case 'P':
      return category(true);
    case 'n':
      return one('\n');
    case 'r':
      return one('\r');
    case 't':
      return one('\t');
    case 'f':
      return one('\f');
    case 'v':
      return one('\v');
    case 'u':
      return one(hexadecimal(4));
    case 'x':
      return one(hexadecimal(2));
    default:
      break;
  }
  if (code < 0x80 && (classes_of(code) & (kIsLetter | kIsNumber)) != 0) {
    fail("this escape is not supported");
  }
  return one(code);
}

SetItem PatternCompiler::category(bool is_negated) {
  if (!accept("{")) {
    fail("'{' expected after \\p");
  }
  const bool is_inverted = accept("^") != is_negated;
  std::string name;
  while (!is_done() && peek() != '}') {
    name.push_back(peek());
    ++at_;
  }
  if (!accept("}")) {
    fail("'{' without '}'");
  }
  if (name == "L" || name == "N") {
    return {.classes = name == "L" ? kIsLetter : kIsNumber, .is_negated = is_inverted};
  }
  const bool is_category = !name.empty() && name.size() <= 2 &&
                           std::string_view("LMNPSZC").find(name[0]) != std::string_view::npos;
  if (!is_category) {
    fail(str_cat("the property '", printable(name), "' is not supported"));
  }
  return {.category = {name[0], name.size() == 2 ? name[1] : '\0'}, .is_negated = is_inverted};
}

char32_t PatternCompiler::hexadecimal(std::size_t digits) {
  char32_t code = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(peek());
    if (is_done() || digit == std::string_view::npos) {
      fail("hexadecimal digit expected");
    }
    code = code * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
    ++at_;
  }
  return code;
}

PatternCompiler::Repetition PatternCompiler::repetition() {
  Repetition found;
  if (accept("*")) {
    found = {.min = 0, .max = -1};
  } else if (accept("+")) {
    found = {.min = 1, .max = -1};
  } else if (accept("?")) {
    found = {.min = 0, .max = 1};
  } else if (accept("{")) {
    const auto number = [&](int64_t fallback) {
      int64_t value = -1;
      while (!is_done() && peek() >= '0' && peek() <= '9' && value <= kMaxRepetitions) {
        value = (value < 0 ? 0 : value * 10) + (peek() - '0');
        ++at_;
      }
      return value < 0 ? fallback : value;
    };
    found.min = number(0);
    found.max = accept(",") ? number(-1) : found.min;
    if (!accept("}") || found.min > kMaxRepetitions || found.max > kMaxRepetitions ||
        (found.max >= 0 && found.max < found.min)) {
      fail("not a valid repetition");
    }
  } else {
    return found;
  }
  found.is_lazy = accept("?");
  if (peek() == '+' || peek() == '*') {
    fail("possessive and nested quantifiers are not supported");
  }
  return found;
}

void PatternCompiler::repeat(std::size_t begin, const Repetition& repetition) {
  if (repetition.min == 1 && repetition.max == 1) {
    return;
  }
  const std::vector<Pattern::Instruction> piece(
      program.begin() + static_cast<std::ptrdiff_t>(begin), program.end());
  program.resize(begin);
  for (int64_t i = 0; i < repetition.min; ++i) {
    insert_copy(piece, begin);
  }
  const auto set_targets = [&](int32_t split, int32_t into, int32_t past) {
    program[static_cast<std::size_t>(split)].first = repetition.is_lazy ? past : into;
    program[static_cast<std::size_t>(split)].second = repetition.is_lazy ? into : past;
  };
  if (repetition.max < 0) {
    const int32_t split = push(Operation::kSplit);
    insert_copy(piece, begin);
    push(Operation::kJump, split);
    set_targets(split, split + 1, static_cast<int32_t>(program.size()));
    return;
  }
  std::vector<int32_t> splits;
  for (int64_t i = repetition.min; i < repetition.max; ++i) {
    splits.push_back(push(Operation::kSplit));
    insert_copy(piece, begin);
  }
  for (const int32_t split : splits) {
    set_targets(split, split + 1, static_cast<int32_t>(program.size()));
  }
}

}  // namespace weft::data
