#include <algorithm>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/models/model.h"

namespace weft::data {

namespace {

/// Greedy longest-match-first, from left to right; a word that cannot be split into pieces is
/// unknown as a whole (arXiv:1609.08144).
class WordPiece : public TokenModel {
 public:
  explicit WordPiece(const JsonFields& fields)
      : vocabulary_(read_vocabulary(fields)),
        prefix_(fields.text("continuing_subword_prefix", "##")),
        max_word_characters_(fields.integer("max_input_chars_per_word", 100)),
        unknown_(read_unknown(fields, vocabulary_, "[UNK]")) {
    for (int32_t id = 0; id < vocabulary_.size(); ++id) {
      const std::string_view piece = vocabulary_.piece(id);
      if (vocabulary_.has(id) && piece.starts_with(prefix_)) {
        continuation_pieces_.add(piece.substr(prefix_.size()), id);
      }
    }
  }

  void tokenize(std::string_view word, std::vector<Piece>& pieces) const override {
    const std::size_t before = pieces.size();
    const auto whole = Piece{unknown_, 0, static_cast<uint32_t>(word.size())};
    if (static_cast<int64_t>(word.size()) > max_word_characters_ &&
        utf8::count(word) > max_word_characters_) {
      pieces.push_back(whole);
      return;
    }
    for (std::size_t begin = 0; begin < word.size();) {
      const Piece piece = longest_at(word, begin);
      if (piece.id == Vocabulary::kNone) {
        pieces.resize(before);
        pieces.push_back(whole);
        return;
      }
      pieces.push_back(piece);
      begin = piece.end;
    }
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string continuing_prefix() const override { return prefix_; }
  int32_t unknown_id() const override { return unknown_; }

 private:
  Piece longest_at(std::string_view word, std::size_t begin) const {
    const Vocabulary& pieces = begin == 0 ? vocabulary_ : continuation_pieces_;
    std::size_t end = begin + std::min(word.size() - begin, pieces.longest());
    for (; end > begin; --end) {
      const bool cuts_code_point =
          end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80;
      if (cuts_code_point) {
        continue;
      }
      const int32_t id = pieces.find(word.substr(begin, end - begin));
      if (id != Vocabulary::kNone) {
        return {id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
      }
    }
    return {Vocabulary::kNone, 0, 0};
  }

  Vocabulary vocabulary_;
  Vocabulary continuation_pieces_;  // pieces inside a word, without their prefix
  std::string prefix_;
  int64_t max_word_characters_;
  int32_t unknown_;
};

}  // namespace

std::unique_ptr<TokenModel> make_word_piece(const JsonFields& fields) {
  return std::make_unique<WordPiece>(fields);
}

}  // namespace weft::data
