#include "data/tokenizers/models/model.h"

namespace weft::data {

namespace {

/// Maps only whole words to ids.
class WordLevel : public TokenModel {
 public:
  explicit WordLevel(const JsonFields& fields)
      : vocabulary_(read_vocabulary(fields)),
        unknown_(read_unknown(fields, vocabulary_, "<unk>")) {}

  void tokenize(std::string_view word, std::vector<Piece>& pieces) const override {
    const int32_t id = vocabulary_.find(word);
    pieces.push_back(
        {id == Vocabulary::kNone ? unknown_ : id, 0, static_cast<uint32_t>(word.size())});
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_; }

 private:
  Vocabulary vocabulary_;
  int32_t unknown_;
};

}  // namespace

std::unique_ptr<TokenModel> make_word_level(const JsonFields& fields) {
  return std::make_unique<WordLevel>(fields);
}

}  // namespace weft::data
