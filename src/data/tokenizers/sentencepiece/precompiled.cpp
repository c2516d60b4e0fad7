#include <array>
#include <optional>
#include <string>
#include <utility>

#include <utf8proc.h>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/normalizers/character_map.h"
#include "data/tokenizers/normalizers/normalizer.h"

namespace weft::data {

namespace {

constexpr std::size_t kMaxGraphemeBytes = 5;  // longer ones are normalised character by character

/// SentencePiece's rules as applied by `tokenizers`: to whole grapheme clusters first, then to
/// characters. A cluster is replaced by the result of its shortest rule and the rest of it is lost;
/// models trained with it expect that.
class Precompiled : public Normalizer {
 public:
  explicit Precompiled(CharacterMap map) : map_(std::move(map)) {
    for (char byte = 1; byte < 127; ++byte) {
      is_plain_[static_cast<std::size_t>(byte)] =
          byte != '\r' && !map_.find(std::string_view(&byte, 1));
    }
  }

  void apply(AlignedText& text) const override {
    const std::string_view bytes = text.view();
    AlignedText result(text.is_tracked());
    for (std::size_t begin = 0; begin < bytes.size();) {
      std::size_t end = end_of_plain(bytes, begin);
      if (end > begin) {
        result.append_unchanged(text, begin, end);
        begin = end;
        continue;
      }
      end = end_of_grapheme(bytes, begin);
      apply_to_grapheme(text, begin, end, result);
      begin = end;
    }
    text = std::move(result);
  }

 private:
  bool is_plain(char byte) const {
    const auto code = static_cast<unsigned char>(byte);
    return code < 0x80 && is_plain_[code];
  }

  /// End of a run of ASCII that no rule changes, without its last character if a mark may follow.
  std::size_t end_of_plain(std::string_view bytes, std::size_t begin) const {
    std::size_t end = begin;
    while (end < bytes.size() && is_plain(bytes[end])) {
      ++end;
    }
    const bool is_followed = end < bytes.size() && static_cast<unsigned char>(bytes[end]) >= 0x80;
    return is_followed && end > begin ? end - 1 : end;
  }

  static std::size_t end_of_grapheme(std::string_view bytes, std::size_t begin) {
    std::size_t end = begin;
    auto before = static_cast<utf8proc_int32_t>(utf8::next(bytes, end));
    utf8proc_int32_t state = 0;
    while (end < bytes.size()) {
      std::size_t after = end;
      const auto code = static_cast<utf8proc_int32_t>(utf8::next(bytes, after));
      if (utf8proc_grapheme_break_stateful(before, code, &state)) {
        break;
      }
      before = code;
      end = after;
    }
    return end;
  }

  void apply_to_grapheme(const AlignedText& text,
                         std::size_t begin,
                         std::size_t end,
                         AlignedText& result) const {
    const std::string_view bytes = text.view();
    if (end - begin <= kMaxGraphemeBytes) {
      if (const auto found = map_.find(bytes.substr(begin, end - begin))) {
        result.append_replaced(text, begin, end, *found);
        return;
      }
    }
    for (std::size_t at = begin; at < end;) {
      std::size_t after = at;
      utf8::next(bytes, after);
      if (const auto found = map_.find(bytes.substr(at, after - at))) {
        result.append_replaced(text, at, after, *found);
      } else {
        result.append_unchanged(text, at, after);
      }
      at = after;
    }
  }

  CharacterMap map_;
  std::array<bool, 128> is_plain_{};
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(const JsonFields& fields) {
  const std::optional<std::string> bytes = from_base64(fields.text("precompiled_charsmap"));
  std::optional<CharacterMap> map;
  if (bytes) {
    map = CharacterMap::read(*bytes);
  }
  if (!map) {
    fields.fail("precompiled_charsmap", "not a SentencePiece character map");
  }
  return std::make_unique<Precompiled>(std::move(*map));
}

}  // namespace weft::data
