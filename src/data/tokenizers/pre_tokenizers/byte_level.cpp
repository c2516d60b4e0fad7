#include <array>
#include <string>
#include <utility>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/pre_tokenizers/byte_signs.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

/// Bytes of the signs' code points, all below U+0200; -1 elsewhere.
const std::array<int16_t, 512>& bytes_of_signs() {
  static const std::array<int16_t, 512> bytes = [] {
    std::array<int16_t, 512> made;
    made.fill(-1);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      std::size_t at = 0;
      made[utf8::next(byte_signs()[byte], at)] = static_cast<int16_t>(byte);
    }
    return made;
  }();
  return bytes;
}

/// Cuts as GPT-2's pattern does: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
class WordCutter {
 public:
  explicit WordCutter(std::string_view text) : text_(text) {}

  /// End of the word that begins at `begin`.
  std::size_t end_of_word(std::size_t begin) const {
    if (const std::size_t suffix = suffix_length(begin); suffix > 0) {
      return begin + suffix;
    }
    const std::size_t after_space = text_[begin] == ' ' ? begin + 1 : begin;
    if (after_space < text_.size()) {
      const Kind kind = kind_at(after_space);
      if (kind != Kind::kSpace) {
        return end_of_run(after_space, kind);
      }
    }
    // All white space but the last belongs together where a word follows, for which the last is
    // left.
    const std::size_t end = end_of_run(begin, Kind::kSpace);
    if (end == text_.size()) {
      return end;
    }
    std::size_t last = end - 1;
    while ((static_cast<unsigned char>(text_[last]) & 0xC0) == 0x80) {
      --last;
    }
    return last > begin ? last : end;
  }

 private:
  enum class Kind { kLetter, kNumber, kSpace, kOther };

  static Kind kind_of(char32_t code) {
    static const std::array<Kind, 128> ascii = [] {
      std::array<Kind, 128> made{};
      for (std::size_t byte = 0; byte < made.size(); ++byte) {
        made[byte] = computed_kind(static_cast<char32_t>(byte));
      }
      return made;
    }();
    return code < ascii.size() ? ascii[code] : computed_kind(code);
  }

  static Kind computed_kind(char32_t code) {
    if (is_white_space(code)) {
      return Kind::kSpace;
    }
    const uint8_t classes = classes_of(code);
    if ((classes & kIsLetter) != 0) {
      return Kind::kLetter;
    }
    return (classes & kIsNumber) != 0 ? Kind::kNumber : Kind::kOther;
  }

  /// The code point at `at`, which moves behind it.
  char32_t next(std::size_t& at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) {
      ++at;
      return byte;
    }
    return utf8::next(text_, at);
  }

  Kind kind_at(std::size_t at) const { return kind_of(next(at)); }

  std::size_t end_of_run(std::size_t begin, Kind kind) const {
    std::size_t end = begin;
    for (std::size_t at = begin; at < text_.size() && kind_of(next(at)) == kind;) {
      end = at;
    }
    return end;
  }

  std::size_t suffix_length(std::size_t begin) const {
    if (text_[begin] != '\'') {
      return 0;
    }
    const std::string_view rest = text_.substr(begin + 1);
    for (const std::string_view suffix : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      if (rest.starts_with(suffix)) {
        return suffix.size() + 1;
      }
    }
    return 0;
  }

  std::string_view text_;
};

/// Most bytes are signs already: they go over in runs.
void append_signs(const AlignedText& word, TextRange range, AlignedText& made) {
  const auto& signs = byte_signs();
  const std::string_view bytes = word.view();
  std::size_t done = range.begin;
  for (std::size_t at = range.begin; at < range.end; ++at) {
    const char byte = bytes[at];
    if (byte > ' ' && byte < '\x7F') {
      continue;
    }
    made.append_kept(word, done, at);
    made.append_changed(word, at, at + 1, signs[static_cast<unsigned char>(byte)]);
    done = at + 1;
  }
  made.append_kept(word, done, range.end);
}

/// GPT-2's words, each byte of them a sign that prints.
class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonFields& fields)
      : prepends_space_(fields.truth("add_prefix_space", true)),
        cuts_(fields.truth("use_regex", true)) {}

  void apply(Words& words) const override {
    AlignedText made(words.text.is_tracked());
    std::vector<TextRange> cut;
    for (const TextRange& range : words.ranges) {
      AlignedText word(words.text.is_tracked());
      if (prepends_space_ && words.text.view()[range.begin] != ' ') {
        word.append_changed(words.text, range.begin, range.begin, " ");
      }
      word.append_kept(words.text, range.begin, range.end);
      const WordCutter cutter(word.view());
      for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t end = cuts_ ? cutter.end_of_word(begin) : word.size();
        const std::size_t start = made.size();
        append_signs(word, {begin, end}, made);
        cut.push_back({start, made.size()});
        begin = end;
      }
    }
    words.text = std::move(made);
    words.ranges = std::move(cut);
  }

 private:
  bool prepends_space_;
  bool cuts_;
};

/// The signs alone.
class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    AlignedText made(text.is_tracked());
    append_signs(text, {0, text.size()}, made);
    text = std::move(made);
  }
};

class ByteLevelDecoder : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& pieces) const override {
    std::string bytes;
    for (const std::string& piece : pieces) {
      const std::size_t before = bytes.size();
      for (std::size_t at = 0; at < piece.size();) {
        const char32_t code = utf8::next(piece, at);
        const int16_t byte = code < bytes_of_signs().size() ? bytes_of_signs()[code] : int16_t{-1};
        if (byte < 0) {  // not written in the alphabet: it stands for itself
          bytes.resize(before);
          bytes += piece;
          break;
        }
        bytes.push_back(static_cast<char>(byte));
      }
    }
    pieces = {utf8::repaired(bytes)};
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_byte_level(const JsonFields& fields) {
  return std::make_unique<ByteLevel>(fields);
}

std::unique_ptr<Normalizer> make_byte_level_normalizer(const JsonFields&) {
  return std::make_unique<ByteLevelNormalizer>();
}

std::unique_ptr<TokenDecoder> make_byte_level_decoder(const JsonFields&) {
  return std::make_unique<ByteLevelDecoder>();
}

}  // namespace weft::data
