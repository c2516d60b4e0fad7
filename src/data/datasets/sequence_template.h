#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/tokenizer.h"

namespace weft::data {

/// What Tokenizer::sequence puts around one text or two, found out once, so that an example is made
/// without copies and virtual calls: `before` first `between` second `after`.
class SequenceTemplate {
 public:
  SequenceTemplate(const Tokenizer& tokenizer, bool is_pair);

  int64_t added() const;
  const std::vector<int64_t>& before() const { return before_; }
  const std::vector<int64_t>& between() const { return between_; }
  const std::vector<int64_t>& after() const { return after_; }
  /// Segment ids of the whole sequence, for texts of these many tokens.
  std::vector<int64_t> types(int64_t first, int64_t second = 0) const;

 private:
  std::vector<int64_t> before_, between_, after_;
  std::vector<int64_t> before_types_, between_types_, after_types_;
  int64_t first_type_ = 0;
  int64_t second_type_ = 0;
};

/// Stands for a text without tokens where no special ones are put around it, as GPT-2's tokenizer
/// does: padding, which `transformers` would read there, else the end of text, else the unknown
/// token. Throws Error where there is none of these.
int32_t token_of_nothing(const Tokenizer& tokenizer);

/// Leaves at most so many tokens of a text, those that the tokenizer keeps.
void cut(std::vector<int32_t>& ids, int64_t most, const Tokenizer& tokenizer);

/// How many tokens of a pair's two texts remain when they must fit into `room`: the longer is cut
/// first, then both by turns; of an odd room the longer one (the second, when alike) has the one
/// more. As `longest_first` of `tokenizers`.
std::pair<int64_t, int64_t> cut_pair(int64_t first, int64_t second, int64_t room);

}  // namespace weft::data
