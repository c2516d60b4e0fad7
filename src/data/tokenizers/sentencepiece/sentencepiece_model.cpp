#include "data/tokenizers/sentencepiece/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/normalizers/character_map.h"
#include "data/tokenizers/sentencepiece/protobuf_reader.h"

namespace weft::data {

namespace {

constexpr std::size_t kMaxPieces = 4'000'000;
constexpr std::size_t kMaxPieceBytes = 4096;  // limit because libsentencepiece recurses by length

[[noreturn]] void fail(const std::string& location, const std::string& found) {
  throw Error(location + ": " + found + ", must be a SentencePiece model");
}

SentencePieceModel::Item read_piece(std::string_view bytes,
                                    std::size_t id,
                                    const std::string& location) {
  SentencePieceModel::Item item;
  ProtobufReader reader(bytes);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 1) {
      item.piece = std::string(field.bytes);
    } else if (field.number == 2) {
      item.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    } else if (field.number == 3) {
      if (field.value < 1 || field.value > 6) {
        fail(location, str_cat("piece ", id, " has an unknown type"));
      }
      item.type = static_cast<SentencePieceType>(field.value);
    }
  }
  const bool is_valid = reader.is_valid() && !item.piece.empty() &&
                        item.piece.size() <= kMaxPieceBytes &&
                        item.piece.find('\0') == std::string::npos &&
                        !utf8::first_invalid(item.piece) && std::isfinite(item.score);
  if (!is_valid) {
    fail(location, str_cat("piece ", id, " is damaged"));
  }
  return item;
}

void read_sentencepiece_training(std::string_view bytes,
                                 SentencePieceModel& model,
                                 const std::string& location) {
  ProtobufReader reader(bytes);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 3) {
      model.model_type = static_cast<int64_t>(field.value);
    } else if (field.number == 35) {
      model.byte_fallback = field.value != 0;
    }
  }
  if (!reader.is_valid() || model.model_type < 1 || model.model_type > 4) {
    fail(location, "its training settings are damaged");
  }
}

void read_normalization(std::string_view bytes,
                        SentencePieceModel& model,
                        const std::string& location) {
  ProtobufReader reader(bytes);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 2) {
      model.character_map = std::string(field.bytes);
    } else if (field.number == 3) {
      model.adds_dummy_prefix = field.value != 0;
    } else if (field.number == 4) {
      model.removes_extra_spaces = field.value != 0;
    }
  }
  const bool is_valid =
      reader.is_valid() && (model.character_map.empty() || CharacterMap::read(model.character_map));
  if (!is_valid) {
    fail(location, "its normalization rules are damaged");
  }
}

void check_pieces(SentencePieceModel& model, const std::string& location) {
  std::unordered_set<std::string_view> pieces;
  std::optional<int32_t> unknown;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Item& item = model.pieces[id];
    if (!pieces.insert(item.piece).second) {
      fail(location, str_cat("piece ", id, " is duplicated"));
    }
    if (item.type == SentencePieceType::kUnknown) {
      if (unknown) {
        fail(location, "two unknown pieces");
      }
      unknown = static_cast<int32_t>(id);
    }
    const bool is_byte_named = item.piece.size() == 6 && item.piece.starts_with("<0x");
    if (item.type == SentencePieceType::kByte && !(is_byte_named && model.byte_fallback)) {
      fail(location, str_cat("piece ", id, " is not a byte"));
    }
  }
  if (!unknown) {
    fail(location, "no unknown piece");
  }
  model.unknown_id = *unknown;
}

}  // namespace

SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& location) {
  SentencePieceModel model;
  ProtobufReader reader(bytes);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.number == 1) {
      if (model.pieces.size() >= kMaxPieces) {
        fail(location, "too many pieces");
      }
      model.pieces.push_back(read_piece(field.bytes, model.pieces.size(), location));
    } else if (field.number == 2) {
      read_sentencepiece_training(field.bytes, model, location);
    } else if (field.number == 3) {
      read_normalization(field.bytes, model, location);
    }
  }
  if (!reader.is_valid() || model.pieces.empty()) {
    fail(location, model.pieces.empty() ? "it has no pieces" : "it is damaged or incomplete");
  }
  check_pieces(model, location);
  return model;
}

}  // namespace weft::data
