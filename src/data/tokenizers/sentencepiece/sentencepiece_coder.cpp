#include "data/tokenizers/sentencepiece/sentencepiece_coder.h"

#include <optional>
#include <utility>

#include <sentencepiece_processor.h>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/sentencepiece/sentencepiece_unigram.h"

namespace weft::data {

namespace {

constexpr int64_t kUnigramType = 1;

std::vector<SurfaceToken> to_surface_tokens(SentencePieceEncoding encoding, int32_t unknown) {
  const auto origin = [&](int64_t position) {
    return static_cast<int64_t>(encoding.text.origins[static_cast<std::size_t>(position)]);
  };
  std::vector<SurfaceToken> result;
  result.reserve(encoding.tokens.size());
  for (const Token& token : encoding.tokens) {
    result.push_back({.token = {token.id, origin(token.begin), origin(token.end)}});
    if (token.id == unknown) {
      result.back().unknown = encoding.text.bytes.substr(
          static_cast<std::size_t>(token.begin), static_cast<std::size_t>(token.end - token.begin));
    }
  }
  return result;
}

}  // namespace

struct SentencePieceCoder::State {
  State(std::string given, std::string file)
      : bytes(std::move(given)),
        location(std::move(file)),
        model(read_sentencepiece_model(bytes, location)) {
    check(processor.LoadFromSerializedProto(bytes), "libsentencepiece cannot load it: ");
    if (model.model_type == kUnigramType) {
      unigram.emplace(model);
    }
    model.character_map.clear();
  }

  void check(const sentencepiece::util::Status& status, std::string_view what = "") const {
    if (!status.ok()) {
      throw Error(str_cat(location, ": ", what, printable(status.message())));
    }
  }

  bool has(int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < model.pieces.size();
  }

  std::string bytes;
  std::string location;
  SentencePieceModel model;
  sentencepiece::SentencePieceProcessor processor;
  std::optional<SentencePieceUnigram> unigram;
};

SentencePieceCoder::SentencePieceCoder(std::string bytes, const std::string& location)
    : state_(std::make_unique<const State>(std::move(bytes), location)) {}
SentencePieceCoder::~SentencePieceCoder() = default;

std::vector<SurfaceToken> SentencePieceCoder::tokens(std::string_view text) const {
  const std::string sound = utf8::replace_invalid(text);
  if (state_->unigram) {
    return to_surface_tokens(state_->unigram->encode(sound), state_->model.unknown_id);
  }
  std::vector<SurfaceToken> result;
  const auto pieces = state_->processor.EncodeAsImmutableProto(sound);
  for (std::size_t i = 0; i < pieces.pieces_size(); ++i) {
    const auto piece = pieces.pieces(static_cast<int>(i));
    const auto id = static_cast<int32_t>(piece.id());
    result.push_back({.token = {id, piece.begin(), piece.end()}});
    if (id == state_->model.unknown_id) {
      result.back().unknown = piece.piece();
    }
  }
  return result;
}

void SentencePieceCoder::encode(std::string_view text, std::vector<int32_t>& ids) const {
  const bool is_valid = !utf8::first_invalid(text);
  const std::string repaired = is_valid ? std::string() : utf8::replace_invalid(text);
  const std::string_view source = is_valid ? text : std::string_view(repaired);
  if (state_->unigram) {
    for (const Token& token : state_->unigram->encode(source).tokens) {
      ids.push_back(token.id);
    }
    return;
  }
  std::vector<int> result;
  state_->check(state_->processor.Encode(source, &result));
  ids.insert(ids.end(), result.begin(), result.end());
}

std::string SentencePieceCoder::decode(const std::vector<int32_t>& ids) const {
  std::vector<int> known;
  for (const int32_t id : ids) {
    if (state_->has(id)) {
      known.push_back(id);
    }
  }
  std::string result;
  state_->check(state_->processor.Decode(known, &result));
  return result;
}

std::string SentencePieceCoder::decode(const std::vector<std::string>& pieces) const {
  std::string result;
  state_->check(state_->processor.Decode(pieces, &result));
  return result;
}

const SentencePieceModel& SentencePieceCoder::model() const { return state_->model; }
const std::string& SentencePieceCoder::bytes() const { return state_->bytes; }
const std::string& SentencePieceCoder::location() const { return state_->location; }

SpecialTokenIds SentencePieceCoder::special_token_ids() const {
  const auto& processor = state_->processor;
  return {.pad = processor.pad_id(),
          .unk = state_->model.unknown_id,
          .bos = processor.bos_id(),
          .eos = processor.eos_id(),
          .cls = -1,
          .sep = -1,
          .mask = -1};
}

std::optional<int32_t> SentencePieceCoder::id(std::string_view piece) const {
  const int32_t found = state_->processor.PieceToId(piece);
  const bool is_it =
      state_->has(found) && state_->model.pieces[static_cast<std::size_t>(found)].piece == piece;
  return is_it ? std::optional(found) : std::nullopt;
}

}  // namespace weft::data
