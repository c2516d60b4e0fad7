#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizers/models/model.h"
#include "data/tokenizers/sentencepiece/sentencepiece_normalizer.h"

namespace weft::data {

/// Tokens of a text, and the normalised text.
struct SentencePieceEncoding {
  SentencePieceText text;
  std::vector<Token> tokens;  // with offsets into `text`
};

/// The unigram model of a `.model` file as in the newest SentencePiece: single-precision sums from
/// left to right; on ties the first is kept. Other library versions break ties differently, and ids
/// must not depend on the installed version.
class SentencePieceUnigram {
 public:
  explicit SentencePieceUnigram(const SentencePieceModel& model);

  SentencePieceEncoding encode(std::string_view text) const;

 private:
  struct LatticeNode {
    float score = 0;
    int64_t begin = -1;
    int32_t id = 0;
  };
  std::vector<LatticeNode> viterbi(std::string_view text) const;
  float score_of(int32_t id, std::size_t characters) const;

  SentencePieceNormalizer normalizer_;
  PieceTrie trie_;
  std::vector<float> scores_;
  std::vector<uint8_t> is_user_defined_;
  std::vector<int32_t> bytes_;  // ids of byte pieces; empty without byte fallback
  int32_t unknown_;
  float min_score_ = 0;
  float max_score_ = 0;
};

}  // namespace weft::data
