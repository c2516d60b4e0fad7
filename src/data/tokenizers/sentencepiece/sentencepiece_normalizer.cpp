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
    if (node == PieceTrie::kNowhere) {
      break;
    }
    kept = kept_.id(node) >= 0 ? at : kept;
  }
  if (kept > 0) {
    return {text.substr(0, kept), kept};
  }
  if (map_) {
    if (const auto rule = map_->find_longest(text)) {
      return {rule->becomes, rule->length};
    }
  }
  std::size_t end = 0;
  const char32_t code = utf8::next(text, end);
  return {code == utf8::kReplacement ? kReplacement : text.substr(0, end), end};
}

SentencePieceText SentencePieceNormalizer::apply(std::string_view text) const {
  SentencePieceText made;
  std::size_t consumed = 0;
  const auto take = [&] {
    const Prefix found = prefix(text.substr(consumed));
    consumed += found.length;
    return found;
  };
  while (removes_spaces_ && consumed < text.size()) {
    const std::size_t before = consumed;
    if (take().becomes != " ") {
      consumed = before;
      break;
    }
  }
  if (consumed == text.size()) {
    return made;
  }
  const auto push = [&](std::string_view bytes, std::size_t origin) {
    made.bytes += bytes;
    made.origins.insert(made.origins.end(), bytes.size(), origin);
  };
  if (adds_prefix_) {
    push(kSentencepieceSpaceSign, consumed);
  }
  bool was_space = removes_spaces_;
  while (consumed < text.size()) {
    const std::size_t origin = consumed;
    std::string_view becomes = take().becomes;
    while (was_space && becomes.starts_with(' ')) {
      becomes.remove_prefix(1);
    }
    if (becomes.empty()) {
      continue;
    }
    for (const char& byte : becomes) {
      push(byte == ' ' ? kSentencepieceSpaceSign : std::string_view(&byte, 1), origin);
    }
    was_space = removes_spaces_ && becomes.ends_with(' ');
  }
  while (removes_spaces_ && made.bytes.ends_with(kSentencepieceSpaceSign)) {
    consumed = made.origins[made.bytes.size() - kSentencepieceSpaceSign.size()];
    made.bytes.resize(made.bytes.size() - kSentencepieceSpaceSign.size());
    made.origins.resize(made.bytes.size());
  }
  made.origins.push_back(consumed);
  return made;
}

}  // namespace weft::data
