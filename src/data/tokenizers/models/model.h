#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizers/json_fields.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

/// An id and the bytes [begin, end) of the word that it stands for.
struct Piece {
  int32_t id = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// One `model` of a tokenizer.json: a word to pieces. Immutable; may be called by many threads at
/// once.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  /// Appends the word's pieces.
  virtual void tokenize(std::string_view word, std::vector<Piece>& pieces) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  /// What pieces within a word begin with (`##`), where the model has such a sign.
  virtual std::string continuing_prefix() const { return {}; }
  /// The two sides of each merge in order of rank, where the model has such.
  virtual std::vector<std::pair<int32_t, int32_t>> merges() const { return {}; }
  /// The id for what the model does not know; -1: it has none.
  virtual int32_t unknown_id() const = 0;
};

using MakeTokenModel = std::unique_ptr<TokenModel> (*)(const JsonFields& fields);

std::unique_ptr<TokenModel> make_word_piece(const JsonFields& fields);
std::unique_ptr<TokenModel> make_byte_pair(const JsonFields& fields);
std::unique_ptr<TokenModel> make_unigram(const JsonFields& fields);
std::unique_ptr<TokenModel> make_word_level(const JsonFields& fields);

/// By the object's `type` (told from its keys in old files without one), through the table in
/// model.cpp. Throws data::Error.
std::unique_ptr<TokenModel> make_token_model(const JsonFields& fields);

/// An object of pieces with their ids. Throws data::Error at `place` for one that is empty, has ids
/// twice or far apart.
Vocabulary read_vocabulary(const formats::Json& pieces, const std::string& place);

/// The `vocab` of WordPiece, BPE and WordLevel.
Vocabulary read_vocabulary(const JsonFields& fields);

/// The id of their `unk_token`, `otherwise` where none is named. Throws data::Error where it is not
/// in the vocabulary.
int32_t read_unknown(const JsonFields& fields,
                     const Vocabulary& vocabulary,
                     std::string_view otherwise);

}  // namespace weft::data
