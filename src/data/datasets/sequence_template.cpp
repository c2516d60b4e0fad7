#include "data/datasets/sequence_template.h"

#include <algorithm>
#include <stdexcept>

#include "data/error.h"

namespace weft::data {

SequenceTemplate::SequenceTemplate(const Tokenizer& tokenizer, bool is_pair) {
  int32_t plain = 0;
  while (plain + 1 < tokenizer.size() && tokenizer.is_special(plain)) {
    ++plain;
  }
  const Sequence probe =
      is_pair ? tokenizer.sequence({plain}, {plain}) : tokenizer.sequence({plain});
  int texts = 0;
  for (std::size_t i = 0; i < probe.ids.size(); ++i) {
    const int64_t type = i < probe.token_type_ids.size() ? probe.token_type_ids[i] : 0;
    if (probe.is_special.at(i) == 0) {
      (texts == 0 ? first_type_id_ : second_type_id_) = type;
      ++texts;
      continue;
    }
    auto& ids = texts == 0 ? before_ : is_pair && texts == 1 ? between_ : after_;
    auto& token_type_ids = texts == 0              ? before_type_ids_
                           : is_pair && texts == 1 ? between_type_ids_
                                                   : after_type_ids_;
    ids.push_back(probe.ids[i]);
    token_type_ids.push_back(type);
  }
  if (texts != (is_pair ? 2 : 1)) {
    throw std::logic_error("SequenceTemplate: the tokenizer's template repeats or omits a text");
  }
}

int64_t SequenceTemplate::num_special_tokens() const {
  return static_cast<int64_t>(before_.size() + between_.size() + after_.size());
}

std::vector<int64_t> SequenceTemplate::enclose(const std::vector<int64_t>& ids) const {
  std::vector<int64_t> whole = before_;
  whole.insert(whole.end(), ids.begin(), ids.end());
  whole.insert(whole.end(), after_.begin(), after_.end());
  return whole;
}

std::vector<int64_t> SequenceTemplate::token_type_ids(int64_t first, int64_t second) const {
  std::vector<int64_t> all;
  all.reserve(static_cast<std::size_t>(num_special_tokens() + first + second));
  all.insert(all.end(), before_type_ids_.begin(), before_type_ids_.end());
  all.insert(all.end(), static_cast<std::size_t>(first), first_type_id_);
  all.insert(all.end(), between_type_ids_.begin(), between_type_ids_.end());
  all.insert(all.end(), static_cast<std::size_t>(second), second_type_id_);
  all.insert(all.end(), after_type_ids_.begin(), after_type_ids_.end());
  return all;
}

int32_t empty_text_token(const Tokenizer& tokenizer) {
  const auto& special = tokenizer.special_token_ids();
  for (const int32_t id : {special.pad, special.eos, special.unk}) {
    if (id >= 0) {
      return id;
    }
  }
  throw Error("a text without tokens: the tokenizer has no special token to represent it");
}

void truncate(std::vector<int32_t>& ids, int64_t max_tokens, const Tokenizer& tokenizer) {
  const auto size = static_cast<int64_t>(ids.size());
  const int64_t kept = std::min(size, max_tokens);
  ids.erase(ids.begin(), ids.begin() + tokenizer.first_kept(size, kept));
  ids.resize(static_cast<std::size_t>(kept));
}

std::pair<int64_t, int64_t> truncate_pair(int64_t first, int64_t second, int64_t max_tokens) {
  if (first + second <= max_tokens) {
    return {first, second};
  }
  const bool is_first_longer = first > second;
  int64_t shorter = std::min(first, second);
  int64_t longer = std::max(shorter, max_tokens - shorter);
  if (shorter + longer > max_tokens) {
    shorter = max_tokens / 2;
    longer = shorter + max_tokens % 2;
  }
  return is_first_longer ? std::pair{longer, shorter} : std::pair{shorter, longer};
}

}  // namespace weft::data
