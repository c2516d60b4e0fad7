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

/// One of `added_tokens`: found in texts as a whole, before the model sees them.
struct AddedToken {
  int32_t id = 0;
  std::string content = {};
  bool is_special = false;
  bool is_normalized = false;   // looked for after the normalizer instead of before
  bool is_single_word = false;  // found only where no letter touches it
  bool strips_left = false;     // takes white space before it along
  bool strips_right = false;
};

/// A stretch of a text: an added token, or (id -1) text between them.
struct Stretch {
  int32_t id = -1;
  TextRange range;
};

/// Finds a set of added tokens in texts: the leftmost, of several there the longest.
class TokenFinder {
 public:
  /// `found_as`: what the text of the token looks like after the normalizer; the content itself for
  /// tokens found before it.
  void add(const AddedToken& token, std::string_view found_as);
  bool is_empty() const { return tokens_.empty(); }

  /// Cuts [begin, end) of the text. Nothing is empty in what comes out.
  void cut(std::string_view text, TextRange range, std::vector<Stretch>& stretches) const;

 private:
  const AddedToken* longest_at(std::string_view text, std::size_t at, std::size_t& length) const;

  std::vector<AddedToken> tokens_;
  Vocabulary found_as_;  // to places in tokens_
  std::array<bool, 256> begins_{};
  std::vector<std::size_t> lengths_;  // of what is looked for, longest first
};

/// `added_tokens` of a tokenizer.json. Throws data::Error.
std::vector<AddedToken> read_added_tokens(const formats::Json& list, const std::string& place);

}  // namespace weft::data
