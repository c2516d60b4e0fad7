#include <array>
#include <string>
#include <utility>

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

/// Splits into GPT-2's words, with each byte as a printable character unless the model reads bytes.
class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonFields& fields)
      : prepends_space_(fields.boolean("add_prefix_space", true)),
        uses_regex_(fields.boolean("use_regex", true)) {}

  bool keep_bytes() override {
    keeps_bytes_ = true;
    return true;
  }

  void apply(Words& words) const override {
    if (prepends_space_) {
      rewrite(words, [](const AlignedText& text, TextRange word, AlignedText& result) {
        if (text.view()[word.begin] != ' ') {
          result.append_replaced(text, word.begin, word.begin, " ");
        }
        result.append_unchanged(text, word.begin, word.end);
      });
    }
    if (uses_regex_) {
      split_words(words, split_gpt2_words);
    }
    if (!keeps_bytes_) {
      rewrite(words, append_as_unicode);
    }
  }

 private:
  /// Replaces each word by what `append` makes of it.
  template <class Append>
  static void rewrite(Words& words, const Append& append) {
    AlignedText result(words.text.is_tracked());
    for (TextRange& word : words.ranges) {
      const std::size_t begin = result.size();
      append(words.text, word, result);
      word = {begin, result.size()};
    }
    words.text = std::move(result);
  }

  bool prepends_space_;
  bool uses_regex_;
  bool keeps_bytes_ = false;
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
