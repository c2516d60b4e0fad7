#include "data/tokenizers/added_tokens.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

bool ends_in_word(std::string_view text) {
  if (text.empty()) {
    return false;
  }
  std::size_t at = utf8::begin_of_last(text);
  return (classes_of(utf8::next(text, at)) & kIsWord) != 0;
}

bool begins_in_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && (classes_of(utf8::next(text, at)) & kIsWord) != 0;
}

}  // namespace

void TokenFinder::add(const AddedToken& token, std::string_view normalized_content) {
  if (normalized_content.empty() ||
      !normalized_contents_.add(normalized_content, static_cast<int32_t>(tokens_.size()))) {
    return;
  }
  tokens_.push_back(token);
  if (!std::exchange(begins_[static_cast<unsigned char>(normalized_content.front())], true)) {
    ++begin_count_;
  }
  if (std::find(lengths_.begin(), lengths_.end(), normalized_content.size()) == lengths_.end()) {
    lengths_.push_back(normalized_content.size());
    std::sort(lengths_.begin(), lengths_.end(), std::greater<>());
  }
}

std::size_t TokenFinder::next_begin(std::string_view text, std::size_t at) const {
  if (begin_count_ == 1) {  // as with BERT's and GPT-2's tokens
    return std::min(text.find(normalized_contents_.piece(0).front(), at), text.size());
  }
  while (at < text.size() && !begins_[static_cast<unsigned char>(text[at])]) {
    ++at;
  }
  return at;
}

const AddedToken* TokenFinder::longest_at(std::string_view text,
                                          std::size_t at,
                                          std::size_t& length) const {
  for (const std::size_t candidate : lengths_) {
    if (candidate > text.size() - at) {
      continue;
    }
    const int32_t found = normalized_contents_.find(text.substr(at, candidate));
    if (found != Vocabulary::kNone) {
      length = candidate;
      return &tokens_[static_cast<std::size_t>(found)];
    }
  }
  return nullptr;
}

void TokenFinder::split(std::string_view whole,
                        TextRange range,
                        std::vector<TextSegment>& segments) const {
  const std::string_view text = whole.substr(range.begin, range.end - range.begin);
  std::size_t done = 0;
  const auto push = [&](int32_t id, std::size_t begin, std::size_t end) {
    if (begin < end) {
      segments.push_back({id, {range.begin + begin, range.begin + end}});
    }
  };
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    at = next_begin(text, at);
    if (at == text.size()) {
      break;
    }
    std::size_t length = 0;
    const AddedToken* token = longest_at(text, at, length);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + length;
    at = end;
    if (token->is_single_word &&
        (ends_in_word(text.substr(0, begin)) || begins_in_word(text.substr(end)))) {
      continue;
    }
    if (token->lstrip) {
      begin -= trailing_white_space(text.substr(0, begin));
    }
    begin = std::max(begin, done);
    if (token->rstrip) {
      end += leading_white_space(text.substr(end));
    }
    push(-1, done, begin);
    push(token->id, begin, end);
    done = std::max(done, end);
  }
  push(-1, done, text.size());
}

std::vector<AddedToken> read_added_tokens(const formats::Json& list, const std::string& location) {
  if (!list.is_array()) {
    throw Error(weft::str_cat(location, ": found ", list.type_name(), ", must be a list"));
  }
  std::vector<AddedToken> tokens;
  for (const formats::Json& item : list) {
    const JsonFields fields(item, location);
    AddedToken token{.id = token_id(fields.at("id"), location + ".id"),
                     .content = fields.text("content"),
                     .is_special = fields.boolean("special", false),
                     .is_single_word = fields.boolean("single_word", false),
                     .lstrip = fields.boolean("lstrip", false),
                     .rstrip = fields.boolean("rstrip", false)};
    token.is_normalized = fields.boolean("normalized", !token.is_special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace weft::data
