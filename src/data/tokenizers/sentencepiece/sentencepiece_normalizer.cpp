#include "data/tokenizers/sentencepiece/sentencepiece_normalizer.h"

#include "base/utf8.h"

namespace weft::data {

namespace {

constexpr std::string_view kSentencepieceSpaceSign = "\u2581";
constexpr std::string_view kReplacement = "\uFFFD";

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model)
    : adds_prefix_(model.adds_dummy_prefix), removes_spaces_(model.removes_extra_spaces) {
  if (!model.character_map.empty()) {
    map_ = CharacterMap::read(model.character_map);
  }
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == SentencePieceType::kUserDefined) {
      kept_.add(model.pieces[id].piece, static_cast<int32_t>(id));
      has_kept_ = true;
    }
  }
}

SentencePieceNormalizer::Prefix SentencePieceNormalizer::prefix(std::string_view text) const {
  std::size_t kept = 0;
  uint32_t node = PieceTrie::kRoot;
  for (std::size_t at = 0; has_kept_ && at < text.size();) {
    node = kept_.next(node, static_cast<unsigned char>(text[at++]));
    if (node == PieceTrie::kNoNode) {
      break;
    }
    kept = kept_.id(node) >= 0 ? at : kept;
  }
  if (kept > 0) {
    return {text.substr(0, kept), kept};
  }
  if (map_) {
    if (const auto rule = map_->find_longest(text)) {
      return {rule->replacement, rule->length};
    }
  }
  std::size_t end = 0;
  const char32_t code = utf8::next(text, end);
  return {code == utf8::kReplacement ? kReplacement : text.substr(0, end), end};
}

SentencePieceText SentencePieceNormalizer::apply(std::string_view text) const {
  SentencePieceText result;
  std::size_t consumed = 0;
  const auto take = [&] {
    const Prefix found = prefix(text.substr(consumed));
    consumed += found.length;
    return found;
  };
  while (removes_spaces_ && consumed < text.size()) {
    const std::size_t before = consumed;
    if (take().replacement != " ") {
      consumed = before;
      break;
    }
  }
  if (consumed == text.size()) {
    return result;
  }
  const auto push = [&](std::string_view bytes, std::size_t origin) {
    result.bytes += bytes;
    result.origins.insert(result.origins.end(), bytes.size(), origin);
  };
  if (adds_prefix_) {
    push(kSentencepieceSpaceSign, consumed);
  }
  bool was_space = removes_spaces_;
  while (consumed < text.size()) {
    const std::size_t origin = consumed;
    std::string_view replacement = take().replacement;
    while (was_space && replacement.starts_with(' ')) {
      replacement.remove_prefix(1);
    }
    if (replacement.empty()) {
      continue;
    }
    for (const char& byte : replacement) {
      push(byte == ' ' ? kSentencepieceSpaceSign : std::string_view(&byte, 1), origin);
    }
    was_space = removes_spaces_ && replacement.ends_with(' ');
  }
  while (removes_spaces_ && result.bytes.ends_with(kSentencepieceSpaceSign)) {
    consumed = result.origins[result.bytes.size() - kSentencepieceSpaceSign.size()];
    result.bytes.resize(result.bytes.size() - kSentencepieceSpaceSign.size());
    result.origins.resize(result.bytes.size());
  }
  result.origins.push_back(consumed);
  return result;
}

}  // namespace weft::data
