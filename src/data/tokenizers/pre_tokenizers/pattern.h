#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/aligned_text.h"
#include "data/tokenizers/json_fields.h"

struct re_pattern_buffer;  // Oniguruma's compiled regular expression

namespace weft::data {

/// A match, or the text between two matches.
struct PatternPart {
  TextRange range;
  bool is_match = false;
};

/// A `pattern` of a tokenizer.json: a plain text or a regular expression in the syntax of
/// Oniguruma, the engine of the `tokenizers` library.
class Pattern {
 public:
  /// A field `{"String": ..}` or `{"Regex": ..}`. Throws data::Error.
  explicit Pattern(const JsonFields& fields);

  /// Divides valid UTF-8 at the non-empty matches; the parts are in order and cover the text.
  /// Throws data::Error if a search backtracks too much or needs too much memory.
  std::vector<PatternPart> split(std::string_view text) const;

 private:
  std::string literal_;  // if the pattern is a plain text
  std::shared_ptr<re_pattern_buffer> regex_;
};

}  // namespace weft::data
