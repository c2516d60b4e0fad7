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

/// Words between white space, each sign of punctuation a word of its own.
class BertPreTokenizer : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    std::vector<TextRange> cut;
    cut.reserve(words.text.size() / 4 + 1);
    for (const TextRange& word : words.ranges) {
      split(words.text.view(), word, cut);
    }
    words.ranges = std::move(cut);
  }

 private:
  static void split(std::string_view text, TextRange word, std::vector<TextRange>& cut) {
    static const std::array<BertKind, 128> ascii = ascii_kinds();
    std::size_t begin = word.begin;  // of the run of letters under way
    for (std::size_t at = word.begin; at < word.end;) {
      const auto byte = static_cast<unsigned char>(text[at]);
      std::size_t after = at + 1;
      const BertKind kind = byte < 0x80 ? ascii[byte] : kind_of(utf8::next(text, after = at));
      if (kind != BertKind::kLetter) {
        if (begin < at) {
          cut.push_back({begin, at});
        }
        if (kind == BertKind::kPunctuation) {
          cut.push_back({at, after});
        }
        begin = after;
      }
      at = after;
    }
    if (begin < word.end) {
      cut.push_back({begin, word.end});
    }
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    std::vector<TextRange> cut;
    const std::string_view text = words.text.view();
    for (const TextRange& word : words.ranges) {
      std::size_t begin = word.begin;
      for (std::size_t at = word.begin; at < word.end;) {
        const auto byte = static_cast<unsigned char>(text[at]);
        std::size_t after = at + 1;
        if (is_white_space(byte < 0x80 ? byte : utf8::next(text, after = at))) {
          if (begin < at) {
            cut.push_back({begin, at});
          }
          begin = after;
        }
        at = after;
      }
      if (begin < word.end) {
        cut.push_back({begin, word.end});
      }
    }
    words.ranges = std::move(cut);
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
