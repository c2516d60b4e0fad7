#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/pre_tokenizers/pattern.h"

namespace weft::data {

namespace {

class Replace : public Normalizer {
 public:
  explicit Replace(const JsonFields& fields)
      : pattern_(fields.fields("pattern")), content_(fields.text("content")) {}

  void apply(AlignedText& text) const override {
    const std::vector<PatternPart> parts = pattern_.split(text.view());
    if (std::none_of(parts.begin(), parts.end(), [](auto& part) { return part.is_match; })) {
      return;
    }
    AlignedText result(text.is_tracked());
    for (const PatternPart& part : parts) {
      if (part.is_match) {
        result.append_replaced(text, part.range.begin, part.range.end, content_);
      } else {
        result.append_unchanged(text, part.range.begin, part.range.end);
      }
    }
    text = std::move(result);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

/// Strips white space from the ends.
class Strip : public Normalizer {
 public:
  explicit Strip(const JsonFields& fields)
      : left_(fields.boolean("strip_left", true)), right_(fields.boolean("strip_right", true)) {}

  void apply(AlignedText& text) const override {
    const std::size_t begin = left_ ? leading_white_space(text.view()) : 0;
    const std::string_view rest = text.view().substr(begin);
    const std::size_t end = text.size() - (right_ ? trailing_white_space(rest) : 0);
    if (begin > 0 || end < text.size()) {
      AlignedText result(text.is_tracked());
      result.append_unchanged(text, begin, end);
      text = std::move(result);
    }
  }

 private:
  bool left_;
  bool right_;
};

class NormalizerPrepend : public Normalizer {
 public:
  explicit NormalizerPrepend(const JsonFields& fields) : prefix_(fields.text("prepend")) {}

  void apply(AlignedText& text) const override {
    if (text.size() == 0) {
      return;
    }
    AlignedText result(text.is_tracked());
    result.append_replaced(text, 0, 0, prefix_);
    result.append_unchanged(text, 0, text.size());
    text = std::move(result);
  }

 private:
  std::string prefix_;
};

/// SentencePiece's `nmt` rules beyond the Unicode forms: control characters are removed, space and
/// zero-width characters become spaces.
class Nmt : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    AlignedTextBuilder result(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const char32_t code = utf8::next(text.view(), at);
      if (is_one_of(kRemoved, code)) {
        result.replace(begin, at, "");
      } else if (is_one_of(kSpaces, code)) {
        result.replace(begin, at, " ");
      }
    }
    text = result.finish();
  }

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };
  static constexpr std::array<Range, 6> kRemoved = {
      {{0x1, 0x8}, {0xB, 0xB}, {0xE, 0x1F}, {0x7F, 0x7F}, {0x8F, 0x8F}, {0x9F, 0x9F}}};
  static constexpr std::array<Range, 8> kSpaces = {{{0x9, 0xA},
                                                    {0xC, 0xD},
                                                    {0x1680, 0x1680},
                                                    {0x200B, 0x200F},
                                                    {0x2028, 0x2029},
                                                    {0x2581, 0x2581},
                                                    {0xFEFF, 0xFEFF},
                                                    {0xFFFD, 0xFFFD}}};

  template <std::size_t kCount>
  static bool is_one_of(const std::array<Range, kCount>& ranges, char32_t code) {
    return std::ranges::any_of(
        ranges, [&](const Range& range) { return range.first <= code && code <= range.last; });
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_nmt(const JsonFields&) { return std::make_unique<Nmt>(); }

std::unique_ptr<Normalizer> make_replace(const JsonFields& fields) {
  return std::make_unique<Replace>(fields);
}

std::unique_ptr<Normalizer> make_strip(const JsonFields& fields) {
  return std::make_unique<Strip>(fields);
}

std::unique_ptr<Normalizer> make_prepend(const JsonFields& fields) {
  return std::make_unique<NormalizerPrepend>(fields);
}

}  // namespace weft::data
