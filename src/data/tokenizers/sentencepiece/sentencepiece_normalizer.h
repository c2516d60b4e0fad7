#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/models/piece_trie.h"
#include "data/tokenizers/normalizers/character_map.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"

namespace weft::data {

/// A text normalised by SentencePiece: rules applied, spaces as `▁`.
struct SentencePieceText {
  std::string bytes;
  std::vector<std::size_t>
      origins;  // where in the first text each byte begins; one more for the end
};

/// SentencePiece's normalisation (its normalizer.cc): longest rule first from left to right,
/// user-defined pieces unchanged, redundant spaces removed.
class SentencePieceNormalizer {
 public:
  explicit SentencePieceNormalizer(const SentencePieceModel& model);

  SentencePieceText apply(std::string_view text) const;

 private:
  struct Prefix {
    std::string_view replacement;
    std::size_t length = 0;
  };
  Prefix prefix(std::string_view text) const;

  std::optional<CharacterMap> map_;
  PieceTrie kept_;  // user-defined pieces
  bool has_kept_ = false;
  bool adds_prefix_;
  bool removes_spaces_;
};

}  // namespace weft::data
