#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/tokenizer.h"

namespace weft::test {

/// Splits at ASCII white space and gives each word of a list its own id, from 5 on; the five before
/// are [PAD] [UNK] [CLS] [SEP] [MASK], and a pair becomes `[CLS] a [SEP] b [SEP]`. `play##ing` is
/// two tokens, `play` and `##ing`, of one word. Words that are not in the list are [UNK], or, where
/// `size` leaves ids free, get one of those by their hash.
class ToyTokenizer : public data::Tokenizer {
 public:
  explicit ToyTokenizer(std::vector<std::string> words, int64_t size = 0) : size_(size) {
    pieces_ = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    pieces_.insert(pieces_.end(), words.begin(), words.end());
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      ids_.emplace(pieces_[id], static_cast<int32_t>(id));
    }
    size_ = std::max(size_, static_cast<int64_t>(pieces_.size()));
  }

  std::vector<data::Token> tokens(std::string_view text) const override {
    std::vector<data::Token> found;
    for (std::size_t at = 0; at < text.size();) {
      if (is_space(text[at])) {
        ++at;
        continue;
      }
      std::size_t end = at + 1;
      while (end < text.size() && !is_space(text[end]) && text.substr(end, 2) != "##") {
        ++end;
      }
      found.push_back(
          {id_of(text.substr(at, end - at)), static_cast<int64_t>(at), static_cast<int64_t>(end)});
      at = end;
    }
    return found;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    for (const auto& token : tokens(text)) {
      ids.push_back(token.id);
    }
  }

  data::Sequence sequence(const std::vector<int32_t>& first) const override {
    data::Sequence made;
    add(made, {kClassify}, 0, 1);
    add(made, first, 0, 0);
    add(made, {kSeparate}, 0, 1);
    return made;
  }

  data::Sequence sequence(const std::vector<int32_t>& first,
                          const std::vector<int32_t>& second) const override {
    data::Sequence made = sequence(first);
    add(made, second, 1, 0);
    add(made, {kSeparate}, 1, 1);
    return made;
  }

  std::string decode(const std::vector<int32_t>& ids,
                     bool skip_special_tokens = true) const override {
    std::string decoded;
    for (const int32_t id : ids) {
      if (skip_special_tokens && is_special(id)) {
        continue;
      }
      const bool is_glued = decoded.empty() || continues_word(id);
      decoded += (is_glued ? "" : " ") + piece(id).substr(continues_word(id) ? 2 : 0);
    }
    return decoded;
  }

  int64_t size() const override { return size_; }
  std::string piece(int32_t id) const override {
    const auto index = static_cast<std::size_t>(id);
    return index < pieces_.size() ? pieces_[index] : "word" + std::to_string(id);
  }
  std::optional<int32_t> id(std::string_view piece) const override {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional<int32_t>(found->second);
  }
  data::SpecialTokenIds special_token_ids() const override {
    return {
        .pad = 0, .unk = 1, .bos = -1, .eos = -1, .cls = kClassify, .sep = kSeparate, .mask = 4};
  }
  bool is_special(int32_t id) const override { return id < 5; }
  bool continues_word(int32_t id) const override { return piece(id).starts_with("##"); }
  void save(const std::string&, int64_t) const override {}
  uint64_t fingerprint() const override {
    uint64_t hash = digest(std::string_view("toy"), static_cast<uint64_t>(size_));
    for (const auto& piece : pieces_) {
      hash = digest(piece, hash);
    }
    return hash;
  }

 private:
  static constexpr int32_t kClassify = 2;
  static constexpr int32_t kSeparate = 3;

  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  static void add(data::Sequence& made,
                  const std::vector<int32_t>& ids,
                  int32_t type,
                  uint8_t is_special) {
    made.ids.insert(made.ids.end(), ids.begin(), ids.end());
    made.token_type_ids.resize(made.ids.size(), type);
    made.is_special.resize(made.ids.size(), is_special);
  }

  int32_t id_of(std::string_view word) const {
    if (const auto known = id(word)) {
      return *known;
    }
    const auto listed = static_cast<int64_t>(pieces_.size());
    if (size_ == listed) {
      return 1;
    }
    return static_cast<int32_t>(
        listed + static_cast<int64_t>(digest(word) % static_cast<uint64_t>(size_ - listed)));
  }

  int64_t size_;
  std::vector<std::string> pieces_;
  std::map<std::string, int32_t, std::less<>> ids_;
};

/// Of a text that is too long it cuts the begin.
class LeftTruncatingTokenizer : public ToyTokenizer {
 public:
  using ToyTokenizer::ToyTokenizer;
  bool truncates_left() const override { return true; }
};

}  // namespace weft::test
