#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/tokenizer.h"

namespace weft::data {

/// Special tokens that Tokenizer::sequence adds around one text or two, precomputed so that
/// examples are built without copies and virtual calls: `before` first `between` second `after`.
class SequenceTemplate {
 public:
  SequenceTemplate(const Tokenizer& tokenizer, bool is_pair);

  int64_t num_special_tokens() const;
  const std::vector<int64_t>& before() const { return before_; }
  const std::vector<int64_t>& between() const { return between_; }
  const std::vector<int64_t>& after() const { return after_; }
  /// Returns `before` ids `after`.
  std::vector<int64_t> enclose(const std::vector<int64_t>& ids) const;
  /// Segment ids of the whole sequence, for texts with these numbers of tokens.
  std::vector<int64_t> token_type_ids(int64_t first, int64_t second = 0) const;

 private:
  std::vector<int64_t> before_, between_, after_;
  std::vector<int64_t> before_type_ids_, between_type_ids_, after_type_ids_;
  int64_t first_type_id_ = 0;
  int64_t second_type_id_ = 0;
};

/// Token that represents an empty text if the template adds no special tokens, as for GPT-2:
/// padding, which `transformers` would read there, else the end of text, else the unknown token.
/// Throws Error if there is none of these.
int32_t empty_text_token(const Tokenizer& tokenizer);

/// Keeps at most `max_tokens` tokens, on the side that the tokenizer keeps.
void truncate(std::vector<int32_t>& ids, int64_t max_tokens, const Tokenizer& tokenizer);

/// Numbers of tokens of a pair's two texts after truncation to `max_tokens`: the longer one is
/// truncated first, then both in turn; if `max_tokens` is odd, the longer one (the second, if
/// equal) keeps one more. Same as `longest_first` of `tokenizers`.
std::pair<int64_t, int64_t> truncate_pair(int64_t first, int64_t second, int64_t max_tokens);

}  // namespace weft::data
