#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizers/models/model.h"
#include "data/tokenizers/sentencepiece/sentencepiece_normalizer.h"

namespace weft::data {

/// What a model makes of a text, and the text as the model saw it.
struct SentencePieceCut {
  SentencePieceText text;
  std::vector<Token> tokens;  // with places in it
};

/// The unigram model of a `.model` file as the newest SentencePiece runs it: sums of single
/// precision, from left to right, where of equal ones the first stays. Libraries of other versions
/// decide equal sums otherwise, and ids must not depend on which one is installed.
class SentencePieceUnigram {
 public:
  explicit SentencePieceUnigram(const SentencePieceModel& model);

  SentencePieceCut cut(std::string_view text) const;

 private:
  struct Step {
    float score = 0;
    int64_t begin = -1;
    int32_t id = 0;
  };
  std::vector<Step> best_steps(std::string_view text) const;
  float score_of(int32_t id, std::size_t characters) const;

  SentencePieceNormalizer normalizer_;
  PieceTrie trie_;
  std::vector<float> scores_;
  std::vector<uint8_t> is_user_defined_;
  std::vector<int32_t> bytes_;  // ids of byte pieces; empty without byte fallback
  int32_t unknown_;
  float least_ = 0;
  float most_ = 0;
};

}  // namespace weft::data
