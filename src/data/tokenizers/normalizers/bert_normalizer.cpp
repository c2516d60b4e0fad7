#include <algorithm>
#include <array>
#include <optional>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/normalizers/normalizer.h"

namespace weft::data {

namespace {

/// BERT's text cleaning before splitting: removes control characters, converts white space to
/// spaces, adds spaces around ideographs, strips accents, lower-cases.
class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const JsonFields& fields)
      : cleans_(fields.boolean("clean_text", true)),
        spaces_ideographs_(fields.boolean("handle_chinese_chars", true)),
        lowers_(fields.boolean("lowercase", true)),
        strips_accents_(fields.optional_boolean("strip_accents").value_or(lowers_)) {
    for (std::size_t byte = 0; byte < ascii_.size(); ++byte) {
      const auto code = static_cast<char32_t>(byte);
      const bool is_break = byte == '\t' || byte == '\n' || byte == '\r';
      ascii_[byte] =
          cleans_ && is_break ? ' ' : static_cast<char>(lowers_ ? lower_case(code) : code);
      is_plain_[byte] = !cleans_ || is_break || (classes_of(code) & kIsControl) == 0;
    }
  }

  void apply(AlignedText& text) const override {
    if (apply_to_ascii(text.mutable_bytes())) {
      return;
    }
    if (cleans_ || spaces_ideographs_) {
      text = cleaned(text);
    }
    if (strips_accents_) {
      apply_form(text, UnicodeForm::kNfd);
      text = without_marks(text, kIsNonspacingMark);
    }
    if (lowers_) {
      text = lowered(text);
    }
  }

 private:
  /// Normalises ASCII in place, except for removals. Returns whether that was all there is to do.
  bool apply_to_ascii(std::string& bytes) const {
    bool is_all = true;
    for (char& byte : bytes) {
      const auto code = static_cast<unsigned char>(byte);
      if (code < 0x80 && is_plain_[code]) {
        byte = ascii_[code];
      } else {
        is_all = false;
      }
    }
    return is_all;
  }

  bool is_done(char byte) const {
    const auto code = static_cast<unsigned char>(byte);
    return code < 0x80 && is_plain_[code];
  }

  AlignedText cleaned(const AlignedText& text) const {
    AlignedTextBuilder result(text);
    const std::string_view bytes = text.view();
    for (std::size_t begin = 0; begin < bytes.size();) {
      if (is_done(bytes[begin])) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      const char32_t code = utf8::next(bytes, end);
      if (cleans_ && (code == 0 || is_removed(code))) {
        result.replace(begin, end, "");
      } else if (cleans_ && is_white_space(code)) {
        result.replace(begin, end, " ");
      } else if (spaces_ideographs_ && is_ideograph(code)) {
        result.replace(begin, begin, " ");
        result.replace(end, end, " ");
      }
      begin = end;
    }
    return result.finish();
  }

  static bool is_removed(char32_t code) { return (classes_of(code) & kIsControl) != 0; }

  bool cleans_;
  bool spaces_ideographs_;
  bool lowers_;
  bool strips_accents_;
  std::array<char, 128> ascii_{};
  std::array<bool, 128> is_plain_{};
};

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const JsonFields& fields) {
  return std::make_unique<BertNormalizer>(fields);
}

}  // namespace weft::data
