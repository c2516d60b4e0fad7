#include "data/tokenizer.h"

namespace weft::data {

std::vector<int64_t> Tokenizer::ids(std::string_view text) const {
  std::vector<int32_t> result;
  encode(text, result);
  return {result.begin(), result.end()};
}

int64_t Tokenizer::num_special_tokens_to_add(bool is_pair) const {
  const Sequence result = is_pair ? sequence({}, {}) : sequence({});
  return static_cast<int64_t>(result.ids.size());
}

bool Tokenizer::has_separate_vocabularies() const {
  const Tokenizer& other = target();
  bool differs = other.size() != size();
  for (int32_t id = 0; !differs && &other != this && id < size(); ++id) {
    differs = other.piece(id) != piece(id);
  }
  return differs;
}

std::optional<int32_t> Tokenizer::word_token(const std::string& word) const {
  std::vector<int32_t> ids;
  for (const auto& text : {" " + word, word}) {
    ids.clear();
    encode(text, ids);
    if (ids.size() == 1 && !is_special(ids[0]) && ids[0] != special_token_ids().unk) {
      return ids[0];
    }
  }
  const auto piece_id = id(word);
  return piece_id && !continues_word(*piece_id) ? piece_id : std::nullopt;
}

}  // namespace weft::data
