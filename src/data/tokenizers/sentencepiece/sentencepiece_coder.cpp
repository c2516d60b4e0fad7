#include "data/tokenizers/sentencepiece/sentencepiece_coder.h"

#include <optional>
#include <utility>

#include <sentencepiece_processor.h>

#include "base/text.h"
#include "base/utf8.h"
#include "data/tokenizers/sentencepiece/sentencepiece_unigram.h"

namespace weft::data {

namespace {

constexpr int64_t kUnigramType = 1;

std::vector<SurfaceToken> placed(SentencePieceCut cut, int32_t unknown) {
  const auto origin = [&](int64_t place) {
    return static_cast<int64_t>(cut.text.origins[static_cast<std::size_t>(place)]);
  };
  std::vector<SurfaceToken> made;
  made.reserve(cut.tokens.size());
  for (const Token& token : cut.tokens) {
    made.push_back({.token = {token.id, origin(token.begin), origin(token.end)}});
    if (token.id == unknown) {
      made.back().unknown = cut.text.bytes.substr(
          static_cast<std::size_t>(token.begin), static_cast<std::size_t>(token.end - token.begin));
    }
  }
  return made;
}

}  // namespace

struct SentencePieceCoder::State {
  State(std::string given, std::string file)
      : bytes(std::move(given)),
        place(std::move(file)),
        model(read_sentencepiece_model(bytes, place)) {
    check(processor.LoadFromSerializedProto(bytes), "libsentencepiece refuses it: ");
    if (model.model_type == kUnigramType) {
      unigram.emplace(model);
    }
    model.character_map.clear();
  }

  void check(const sentencepiece::util::Status& status, std::string_view what = "") const {
    if (!status.ok()) {
      throw Error(text(place, ": ", what, shown(status.message())));
    }
  }

  bool has(int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < model.pieces.size();
  }

  std::string bytes;
  std::string place;
  SentencePieceModel model;
  sentencepiece::SentencePieceProcessor processor;
  std::optional<SentencePieceUnigram> unigram;
};

SentencePieceCoder::SentencePieceCoder(std::string bytes, const std::string& place)
    : state_(std::make_unique<const State>(std::move(bytes), place)) {}
SentencePieceCoder::~SentencePieceCoder() = default;

std::vector<SurfaceToken> SentencePieceCoder::tokens(std::string_view text) const {
  const std::string sound = utf8::repaired(text);
  if (state_->unigram) {
    return placed(state_->unigram->cut(sound), state_->model.unknown_id);
  }
  std::vector<SurfaceToken> made;
  const auto pieces = state_->processor.EncodeAsImmutableProto(sound);
  for (std::size_t i = 0; i < pieces.pieces_size(); ++i) {
    const auto piece = pieces.pieces(static_cast<int>(i));
    const auto id = static_cast<int32_t>(piece.id());
    made.push_back({.token = {id, piece.begin(), piece.end()}});
    if (id == state_->model.unknown_id) {
      made.back().unknown = piece.piece();
    }
  }
  return made;
}

void SentencePieceCoder::encode(std::string_view text, std::vector<int32_t>& ids) const {
  const bool is_sound = !utf8::first_invalid(text);
  const std::string repaired = is_sound ? std::string() : utf8::repaired(text);
  const std::string_view source = is_sound ? text : std::string_view(repaired);
  if (state_->unigram) {
    for (const Token& token : state_->unigram->cut(source).tokens) {
      ids.push_back(token.id);
    }
    return;
  }
  std::vector<int> made;
  state_->check(state_->processor.Encode(source, &made));
  ids.insert(ids.end(), made.begin(), made.end());
}

std::string SentencePieceCoder::decode(const std::vector<int32_t>& ids) const {
  std::vector<int> known;
  for (const int32_t id : ids) {
    if (state_->has(id)) {
      known.push_back(id);
    }
  }
  std::string made;
  state_->check(state_->processor.Decode(known, &made));
  return made;
}

std::string SentencePieceCoder::decode(const std::vector<std::string>& pieces) const {
  std::string made;
  state_->check(state_->processor.Decode(pieces, &made));
  return made;
}

const SentencePieceModel& SentencePieceCoder::model() const { return state_->model; }
const std::string& SentencePieceCoder::bytes() const { return state_->bytes; }
const std::string& SentencePieceCoder::place() const { return state_->place; }

SpecialIds SentencePieceCoder::special() const {
  const auto& processor = state_->processor;
  return {.pad = processor.pad_id(),
          .unknown = state_->model.unknown_id,
          .begin = processor.bos_id(),
          .end = processor.eos_id(),
          .classify = -1,
          .separate = -1,
          .mask = -1};
}

std::optional<int32_t> SentencePieceCoder::id(std::string_view piece) const {
  const int32_t found = state_->processor.PieceToId(piece);
  const bool is_it =
      state_->has(found) && state_->model.pieces[static_cast<std::size_t>(found)].piece == piece;
  return is_it ? std::optional(found) : std::nullopt;
}

}  // namespace weft::data
