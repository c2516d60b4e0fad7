#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"

namespace weft::data {

/// A token of a model; for an unknown token also its text as normalised by the model.
struct SurfaceToken {
  Token token;
  std::string unknown = {};
};

/// Converts texts to the ids of a SentencePiece `.model` file and back. Immutable; all functions
/// may be called by many threads at once. Ill-formed UTF-8 is read as U+FFFD.
class SentencePieceCoder {
 public:
  /// Throws data::Error at `location` for an invalid model.
  SentencePieceCoder(std::string bytes, const std::string& location);
  ~SentencePieceCoder();

  /// Offsets refer to the text after each ill-formed byte sequence became U+FFFD (three bytes).
  std::vector<SurfaceToken> tokens(std::string_view text) const;
  /// As `tokens`, ids only; the fast path.
  void encode(std::string_view text, std::vector<int32_t>& ids) const;

  /// Ids that are not in the model decode to nothing.
  std::string decode(const std::vector<int32_t>& ids) const;
  /// Pieces that are not in the model are kept as they are.
  std::string decode(const std::vector<std::string>& pieces) const;

  /// The model as in the file, without its character map.
  const SentencePieceModel& model() const;
  const std::string& bytes() const;
  const std::string& location() const;
  /// Ids of pad, unknown, begin and end, as named in the file.
  SpecialTokenIds special_token_ids() const;
  /// Exact lookup of a piece.
  std::optional<int32_t> id(std::string_view piece) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace weft::data
