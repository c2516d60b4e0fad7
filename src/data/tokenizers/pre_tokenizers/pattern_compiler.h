#pragma once

#include <string_view>
#include <vector>

#include "data/tokenizers/pre_tokenizers/pattern.h"

namespace weft::data {

/// Compiles a regular expression to a program for Pattern.
class PatternCompiler {
 public:
  /// `fields` and `key` give the location for messages.
  PatternCompiler(std::string_view expression, const JsonFields& fields, std::string_view key);

  void compile();
  std::vector<Pattern::Set> sets;
  std::vector<Pattern::Instruction> program;

 private:
  struct Repetition {
    int64_t min = 1;
    int64_t max = 1;  // -1: unbounded
    bool is_lazy = false;
  };

  void alternatives();
  void sequence();
  void atom();
  void group();
  void look_ahead(bool is_negated);
  void set();
  void escape_in_pattern();
  Pattern::SetItem set_item();
  Pattern::SetItem escape();
  Pattern::SetItem category(bool is_negated);
  char32_t hexadecimal(std::size_t digits);
  Repetition repetition();
  void repeat(std::size_t begin, const Repetition& repetition);
  void insert_copy(const std::vector<Pattern::Instruction>& piece, std::size_t from);
  void push_set(Pattern::Set result);
  int32_t push(Pattern::Operation operation, int32_t first = 0, int32_t second = 0);

  bool is_done() const { return at_ >= expression_.size(); }
  bool accept(std::string_view what);
  char32_t take();
  char peek() const { return is_done() ? '\0' : expression_[at_]; }
  [[noreturn]] void fail(std::string_view message) const;

  std::string_view expression_;
  const JsonFields& fields_;
  std::string_view key_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ignores_case_ = false;
};

}  // namespace weft::data
