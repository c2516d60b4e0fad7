#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
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

/// Contents of a SentencePiece `.model` file that affect tokens.
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

/// Parses the bytes of a `.model` file and validates everything that could crash libsentencepiece,
/// whose reader is not hardened. Throws data::Error.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& location);

/// Converts the model to a tokenizer.json: normalizer, pre-tokenizer, model, decoder, and its
/// control and user-defined pieces as added tokens. Throws data::Error for word and char models.
formats::Json sentencepiece_document(const SentencePieceModel& model, const std::string& location);

/// Tokenizer of the bare model: no special tokens around texts, and none recognised beyond those
/// that the model itself handles.
std::shared_ptr<const Tokenizer> make_sentencepiece_tokenizer(std::string bytes,
                                                              const std::string& location);

/// Whether the directory contains a Marian tokenizer in transformers' layout: `source.spm` and
/// `target.spm`, SentencePiece models of the two sides, and `vocab.json` with the ids of the pieces
/// of both (with `separate_vocabs: true` in tokenizer_config.json the ids of targets are in
/// `target_vocab.json`).
bool has_marian_tokenizer(const std::string& directory);

/// Loads it like transformers' MarianTokenizer: pieces that are not in the vocabulary are unknown,
/// a code such as `>>fra<<` at the beginning of a text is one token, and a text ends with `</s>`.
/// Throws data::Error naming the file.
std::shared_ptr<const Tokenizer> load_marian_tokenizer(const std::string& directory);

}  // namespace weft::data
