#include <array>
#include <string>
#include <utility>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

/// Bytes of the alphabet's code points, all below U+0200; -1 elsewhere.
const std::array<int16_t, 512>& unicode_to_bytes() {
  static const std::array<int16_t, 512> bytes = [] {
    std::array<int16_t, 512> result;
    result.fill(-1);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      std::size_t at = 0;
      result[utf8::next(bytes_to_unicode()[byte], at)] = static_cast<int16_t>(byte);
    }
    return result;
  }();
  return bytes;
}

/// Splits like GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
class WordSplitter {
 public:
  explicit WordSplitter(std::string_view text) : text_(text) {}

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
    // If a word follows, the last white space character is left for it and the ones before it form
    // a word.
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
      std::array<Kind, 128> result{};
      for (std::size_t byte = 0; byte < result.size(); ++byte) {
        result[byte] = computed_kind(static_cast<char32_t>(byte));
      }
      return result;
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

  /// Returns the code point at `at` and advances `at` past it.
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

/// Most bytes map to themselves, so they are copied in runs.
void append_as_unicode(const AlignedText& word, TextRange range, AlignedText& result) {
  const auto& characters = bytes_to_unicode();
  const std::string_view bytes = word.view();
  std::size_t done = range.begin;
  for (std::size_t at = range.begin; at < range.end; ++at) {
    const char byte = bytes[at];
    if (byte > ' ' && byte < '\x7F') {
      continue;
    }
    result.append_unchanged(word, done, at);
    result.append_replaced(word, at, at + 1, characters[static_cast<unsigned char>(byte)]);
    done = at + 1;
  }
  result.append_unchanged(word, done, range.end);
}

/// Splits into GPT-2's words, with each byte as a printable character.
class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonFields& fields)
      : prepends_space_(fields.boolean("add_prefix_space", true)),
        uses_regex_(fields.boolean("use_regex", true)) {}

  void apply(Words& words) const override {
    AlignedText result(words.text.is_tracked());
    std::vector<TextRange> ranges;
    for (const TextRange& range : words.ranges) {
      AlignedText word(words.text.is_tracked());
      if (prepends_space_ && words.text.view()[range.begin] != ' ') {
        word.append_replaced(words.text, range.begin, range.begin, " ");
      }
      word.append_unchanged(words.text, range.begin, range.end);
      const WordSplitter splitter(word.view());
      for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t end = uses_regex_ ? splitter.end_of_word(begin) : word.size();
        const std::size_t start = result.size();
        append_as_unicode(word, {begin, end}, result);
        ranges.push_back({start, result.size()});
        begin = end;
      }
    }
    words.text = std::move(result);
    words.ranges = std::move(ranges);
  }

 private:
  bool prepends_space_;
  bool uses_regex_;
};

/// Maps bytes to printable characters, without splitting.
class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    AlignedText result(text.is_tracked());
    append_as_unicode(text, {0, text.size()}, result);
    text = std::move(result);
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
        const int16_t byte =
            code < unicode_to_bytes().size() ? unicode_to_bytes()[code] : int16_t{-1};
        if (byte < 0) {  // not in the alphabet: kept as is
          bytes.resize(before);
          bytes += piece;
          break;
        }
        bytes.push_back(static_cast<char>(byte));
      }
    }
    pieces = {utf8::replace_invalid(bytes)};
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

const std::array<std::string, 256>& bytes_to_unicode() {
  static const std::array<std::string, 256> characters = [] {
    std::array<std::string, 256> result;
    char32_t other = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool prints =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      utf8::append(result[byte], prints ? byte : other++);
    }
    return result;
  }();
  return characters;
}

}  // namespace weft::data
