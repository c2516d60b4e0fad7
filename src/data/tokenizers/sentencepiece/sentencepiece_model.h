#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/pipeline.h"

namespace weft::data {

enum class SentencePieceType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// What a `.model` file of SentencePiece holds, as far as it decides tokens.
struct SentencePieceModel {
  struct Item {
    std::string piece;
    float score = 0;
    SentencePieceType type = SentencePieceType::kNormal;
  };
  std::vector<Item> pieces;
  int64_t model_type = 1;  // 1 unigram, 2 bpe, 3 word, 4 char
  bool byte_fallback = false;
  int32_t unknown_id = 0;
  std::string character_map;
  bool adds_dummy_prefix = true;
  bool removes_extra_spaces = true;
};

/// Reads the bytes of a `.model` file and checks all that libsentencepiece would trip over: it is
/// no hardened reader. Throws data::Error.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& place);

/// The model as the pieces of a tokenizer.json: normalizer, pre-tokenizer, model, decoder, and its
/// control and user-defined pieces as added tokens. Throws data::Error for word and char models.
formats::Json sentencepiece_document(const SentencePieceModel& model, const std::string& place);

/// The model alone, running on libsentencepiece: no special tokens around texts, none recognised
/// beyond what it does itself.
std::shared_ptr<const Tokenizer> make_sentencepiece_tokenizer(std::string bytes,
                                                              const std::string& place);

}  // namespace weft::data
