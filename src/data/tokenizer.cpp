#include "data/tokenizer.h"

namespace weft::data {

std::vector<int64_t> Tokenizer::ids(std::string_view text) const {
  std::vector<int32_t> made;
  encode(text, made);
  return {made.begin(), made.end()};
}

int64_t Tokenizer::added_tokens(bool is_pair) const {
  const Sequence made = is_pair ? sequence({}, {}) : sequence({});
  return static_cast<int64_t>(made.ids.size());
}

bool Tokenizer::has_two_vocabularies() const {
  const Tokenizer& other = target();
  bool differs = other.size() != size();
  for (int32_t id = 0; !differs && &other != this && id < size(); ++id) {
    differs = other.piece(id) != piece(id);
  }
  return differs;
}

}  // namespace weft::data
