#include "data/text/word_encoder.h"

#include <string>

namespace weft::data {

WordEncoder::WordEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  std::vector<int32_t> bare;
  std::vector<int32_t> spaced;
  tokenizer.encode("a", bare);
  tokenizer.encode(" a", spaced);
  adds_space_ = bare != spaced;
}

void WordEncoder::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const auto known = adds_space_ ? tokenizer_.id(word) : std::nullopt;
  if (!adds_space_ || word.empty() || word.front() == ' ' ||
      (known && tokenizer_.is_special(*known))) {
    return tokenizer_.encode(word, ids);
  }
  tokenizer_.encode(" " + std::string(word), ids);
}

}  // namespace weft::data
