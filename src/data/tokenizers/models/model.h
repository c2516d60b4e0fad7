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

/// A token id and the bytes [begin, end) of the word that it covers.
struct Piece {
  int32_t id = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// One `model` of a tokenizer.json: converts a word to pieces. `tokenize` may be called by many
/// threads at once.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  /// Appends the word's pieces.
  virtual void tokenize(std::string_view word, std::vector<Piece>& pieces) const = 0;
  /// Whether `read_bytes` may be called.
  virtual bool can_read_bytes() const { return false; }
  /// From now on each byte of a word stands for the character that it has in GPT-2's alphabet.
  virtual void read_bytes() {}
  virtual const Vocabulary& vocabulary() const = 0;
  /// Prefix of pieces inside a word (`##`); empty if the model has none.
  virtual std::string continuing_prefix() const { return {}; }
  /// Left and right id of each merge in order of rank; empty if the model has no merges.
  virtual std::vector<std::pair<int32_t, int32_t>> merges() const { return {}; }
  /// Id of the unknown token; -1: none.
  virtual int32_t unknown_id() const = 0;
};

using MakeTokenModel = std::unique_ptr<TokenModel> (*)(const JsonFields& fields);

std::unique_ptr<TokenModel> make_word_piece(const JsonFields& fields);
std::unique_ptr<TokenModel> make_byte_pair(const JsonFields& fields);
std::unique_ptr<TokenModel> make_unigram(const JsonFields& fields);
std::unique_ptr<TokenModel> make_word_level(const JsonFields& fields);

/// Created by the object's `type` (inferred from its keys in old files without one), from the table
/// in model.cpp. Throws data::Error.
std::unique_ptr<TokenModel> make_token_model(const JsonFields& fields);

/// Reads an object from pieces to ids. Throws data::Error at `location` if it is empty, or has
/// duplicate or widely scattered ids.
Vocabulary read_vocabulary(const formats::Json& pieces, const std::string& location);

/// The `vocab` of WordPiece, BPE and WordLevel.
Vocabulary read_vocabulary(const JsonFields& fields);

/// Id of their `unk_token`, or `fallback` if none is named. Throws data::Error if it is not in the
/// vocabulary.
int32_t read_unknown(const JsonFields& fields,
                     const Vocabulary& vocabulary,
                     std::string_view fallback);

}  // namespace weft::data
