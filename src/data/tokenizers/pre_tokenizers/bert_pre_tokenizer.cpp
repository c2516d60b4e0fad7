#include <array>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

enum class BertKind : uint8_t { kLetter, kSpace, kPunctuation };

BertKind kind_of(char32_t code) {
  if (is_white_space(code)) {
    return BertKind::kSpace;
  }
  return (classes_of(code) & kIsPunctuation) != 0 ? BertKind::kPunctuation : BertKind::kLetter;
}

std::array<BertKind, 128> ascii_kinds() {
  std::array<BertKind, 128> kinds{};
  for (std::size_t byte = 0; byte < kinds.size(); ++byte) {
    kinds[byte] = kind_of(static_cast<char32_t>(byte));
  }
  return kinds;
}

/// Splits at white space; each punctuation character is a word of its own.
class BertPreTokenizer : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    std::vector<TextRange> ranges;
    ranges.reserve(words.text.size() / 4 + 1);
    for (const TextRange& word : words.ranges) {
      split(words.text.view(), word, ranges);
    }
    words.ranges = std::move(ranges);
  }

 private:
  static void split(std::string_view text, TextRange word, std::vector<TextRange>& ranges) {
    static const std::array<BertKind, 128> ascii = ascii_kinds();
    std::size_t begin = word.begin;  // start of the current run of letters
    for (std::size_t at = word.begin; at < word.end;) {
      const auto byte = static_cast<unsigned char>(text[at]);
      std::size_t after = at + 1;
      const BertKind kind = byte < 0x80 ? ascii[byte] : kind_of(utf8::next(text, after = at));
      if (kind != BertKind::kLetter) {
        if (begin < at) {
          ranges.push_back({begin, at});
        }
        if (kind == BertKind::kPunctuation) {
          ranges.push_back({at, after});
        }
        begin = after;
      }
      at = after;
    }
    if (begin < word.end) {
      ranges.push_back({begin, word.end});
    }
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    std::vector<TextRange> ranges;
    const std::string_view text = words.text.view();
    for (const TextRange& word : words.ranges) {
      std::size_t begin = word.begin;
      for (std::size_t at = word.begin; at < word.end;) {
        const auto byte = static_cast<unsigned char>(text[at]);
        std::size_t after = at + 1;
        if (is_white_space(byte < 0x80 ? byte : utf8::next(text, after = at))) {
          if (begin < at) {
            ranges.push_back({begin, at});
          }
          begin = after;
        }
        at = after;
      }
      if (begin < word.end) {
        ranges.push_back({begin, word.end});
      }
    }
    words.ranges = std::move(ranges);
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer(const JsonFields&) {
  return std::make_unique<BertPreTokenizer>();
}

std::unique_ptr<PreTokenizer> make_whitespace_split(const JsonFields&) {
  return std::make_unique<WhitespaceSplit>();
}

}  // namespace weft::data
