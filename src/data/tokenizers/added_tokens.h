#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/aligned_text.h"
#include "data/tokenizers/json_fields.h"
#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

/// One of `added_tokens`: matched in texts as a whole, before the model sees them.
struct AddedToken {
  int32_t id = 0;
  std::string content = {};
  bool is_special = false;
  bool is_normalized = false;   // matched after the normalizer instead of before
  bool is_single_word = false;  // matched only if no letter is adjacent
  bool lstrip = false;          // includes white space before it
  bool rstrip = false;
};

/// Part of a text: an added token, or (id -1) text between added tokens.
struct TextSegment {
  int32_t id = -1;
  TextRange range;
};

/// Finds a set of added tokens in texts: leftmost match first, the longest one on ties.
class TokenFinder {
 public:
  /// `normalized_content`: text of the token after the normalizer; the content itself for tokens
  /// matched before it.
  void add(const AddedToken& token, std::string_view normalized_content);
  bool is_empty() const { return tokens_.empty(); }

  /// Splits [begin, end) of the text. No segment is empty.
  void split(std::string_view text, TextRange range, std::vector<TextSegment>& segments) const;

 private:
  /// First position from `at` on whose byte begins a token; the end of the text if there is none.
  std::size_t next_begin(std::string_view text, std::size_t at) const;
  const AddedToken* longest_at(std::string_view text, std::size_t at, std::size_t& length) const;

  std::vector<AddedToken> tokens_;
  Vocabulary normalized_contents_;  // to indices into tokens_
  std::array<bool, 256> begins_{};
  int64_t begin_count_ = 0;           // number of bytes that begin a token
  std::vector<std::size_t> lengths_;  // lengths of the token texts, longest first
};

/// `added_tokens` of a tokenizer.json. Throws data::Error.
std::vector<AddedToken> read_added_tokens(const formats::Json& list, const std::string& location);

}  // namespace weft::data
