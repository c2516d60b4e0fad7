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

/// A token of a model, and of one that it does not know what stands there in the text as the model
/// normalises it.
struct SurfaceToken {
  Token token;
  std::string unknown = {};
};

/// A `.model` file of SentencePiece at work: texts to its own ids and back. Immutable; all
/// functions may be called by many threads at once. Ill-formed UTF-8 is read as U+FFFD.
class SentencePieceCoder {
 public:
  /// Throws data::Error at `place` for bytes that are no sound model.
  SentencePieceCoder(std::string bytes, const std::string& place);
  ~SentencePieceCoder();

  /// The places are those of the text, whose ill-formed bytes count as the three of U+FFFD.
  std::vector<SurfaceToken> tokens(std::string_view text) const;
  /// As `tokens`, ids only; the fast path.
  void encode(std::string_view text, std::vector<int32_t>& ids) const;

  /// Ids that the model does not have say nothing.
  std::string decode(const std::vector<int32_t>& ids) const;
  /// Pieces that the model does not have stand as they are.
  std::string decode(const std::vector<std::string>& pieces) const;

  /// As the file has it, but for its character map.
  const SentencePieceModel& model() const;
  const std::string& bytes() const;
  const std::string& place() const;
  /// Pad, unknown, begin and end, as the file names them.
  SpecialIds special() const;
  /// The id of this very piece.
  std::optional<int32_t> id(std::string_view piece) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace weft::data
