
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <utf8proc.h>

#include "base/codepoints.h"
#include "base/utf8.h"
#include "data/tokenizers/normalizers/normalizer.h"

namespace weft::data {

namespace {

constexpr bool unicode_composes(UnicodeForm form) {
  return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
}

constexpr bool is_compatible(UnicodeForm form) {
  return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
}

bool is_inert(char32_t code) { return (classes_of(code) & kIsInert) != 0; }

/// Whether a code point of a decomposed text may combine with the preceding ones: marks and the
/// later letters of a Hangul syllable.
bool is_combining(utf8proc_int32_t code) {
  if (code >= 0x1160 && code <= 0x11FF) {
    return true;
  }
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

/// Normalises the code points of `buffer` from `begin` on in place, and resizes it to the result.
/// Inert code points are passed alone.
void normalize(std::vector<utf8proc_int32_t>& buffer, std::size_t begin, UnicodeForm form) {
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (unicode_composes(form) ? UTF8PROC_COMPOSE : 0));
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(
      buffer.data() + begin, static_cast<utf8proc_ssize_t>(buffer.size() - begin), options);
  if (length >= 0) {
    buffer.resize(begin + static_cast<std::size_t>(length));
  }
}

/// Reorders marks by combining class (stable sort), as utf8proc_decompose does for whole strings.
void order_marks(std::vector<utf8proc_int32_t>& buffer, std::size_t begin) {
  const auto rank = [](utf8proc_int32_t code) {
    return utf8proc_get_property(code)->combining_class;
  };
  for (std::size_t first = begin; first < buffer.size();) {
    if (rank(buffer[first]) == 0) {
      ++first;
      continue;
    }
    std::size_t last = first;
    while (last < buffer.size() && rank(buffer[last]) != 0) {
      ++last;
    }
    std::stable_sort(buffer.begin() + static_cast<std::ptrdiff_t>(first),
                     buffer.begin() + static_cast<std::ptrdiff_t>(last),
                     [&](auto a, auto b) { return rank(a) < rank(b); });
    first = last;
  }
}

void append_decomposed(std::vector<utf8proc_int32_t>& buffer, char32_t code, UnicodeForm form) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (is_compatible(form) ? UTF8PROC_COMPAT : 0));
  std::array<utf8proc_int32_t, 32> parts{};  // the longest decomposition has 18
  int last_class = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), options, &last_class);
  if (count <= 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    buffer.push_back(static_cast<utf8proc_int32_t>(code));
    return;
  }
  buffer.insert(buffer.end(), parts.begin(), parts.begin() + count);
}

/// Whether a code point is its own decomposition, in every form.
bool is_whole(char32_t code) {
  constexpr uint16_t kNoDecomposition = 0xFFFF;
  const bool is_hangul = code >= 0xAC00 && code <= 0xD7A3;
  return !is_hangul &&
         utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->decomp_seqindex ==
             kNoDecomposition;
}

bool begins_segment(char32_t code, UnicodeForm form) {
  if (code < 0x300) {
    return true;
  }
  if (is_whole(code)) {
    return !is_combining(static_cast<utf8proc_int32_t>(code));
  }
  std::vector<utf8proc_int32_t> parts;
  append_decomposed(parts, code, form);
  return !is_combining(parts.front());
}

/// Whether a code point stays as it is if it is a segment of its own.
bool is_stable(char32_t code, UnicodeForm form) {
  return code < (form == UnicodeForm::kNfc ? 0x300U : 0x80U) || is_whole(code);
}

/// Whether all code points are segments of their own that stay as they are.
bool is_normalized(std::string_view text, UnicodeForm form) {
  for (std::size_t at = utf8::skip_ascii(text, 0); at < text.size();
       at = utf8::skip_ascii(text, at)) {
    const char32_t code = utf8::next(text, at);
    if (!is_stable(code, form) || !begins_segment(code, form)) {
      return false;
    }
  }
  return true;
}

/// Returns the code points of one segment in the given form.
std::string formed(std::string_view segment, UnicodeForm form) {
  std::vector<utf8proc_int32_t> buffer;
  std::size_t run = 0;  // start of the code points since the last inert one
  const auto finish_run = [&] {
    order_marks(buffer, run);
    if (unicode_composes(form)) {
      normalize(buffer, run, form);
    }
  };
  for (std::size_t at = 0; at < segment.size();) {
    const char32_t code = utf8::next(segment, at);
    if (is_inert(code)) {
      finish_run();
      buffer.push_back(static_cast<utf8proc_int32_t>(code));
      run = buffer.size();
    } else {
      append_decomposed(buffer, code, form);
    }
  }
  finish_run();
  std::string result;
  for (const utf8proc_int32_t code : buffer) {
    utf8::append(result, static_cast<char32_t>(code));
  }
  return result;
}

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(UnicodeForm form) : form_(form) {}
  void apply(AlignedText& text) const override { apply_form(text, form_); }

 private:
  UnicodeForm form_;
};

class StripAccents : public Normalizer {
 public:
  void apply(AlignedText& text) const override { text = without_marks(text, kIsCombiningMark); }
};

class Lowercase : public Normalizer {
 public:
  void apply(AlignedText& text) const override { text = lowered(text); }
};

}  // namespace

void apply_form(AlignedText& text, UnicodeForm form) {
  if (is_normalized(text.view(), form)) {
    return;
  }
  AlignedText result(text.is_tracked());
  const std::string_view bytes = text.view();
  for (std::size_t begin = 0; begin < bytes.size();) {
    std::size_t end = begin;
    const char32_t first = utf8::next(bytes, end);
    const std::size_t after_first = end;
    while (end < bytes.size()) {
      std::size_t after = end;
      if (begins_segment(utf8::next(bytes, after), form)) {
        break;
      }
      end = after;
    }
    const std::string_view segment = bytes.substr(begin, end - begin);
    if (end == after_first && is_stable(first, form)) {
      result.append_unchanged(text, begin, end);
    } else {
      const std::string changed = formed(segment, form);
      if (changed == segment) {
        result.append_unchanged(text, begin, end);
      } else {
        result.append_replaced(text, begin, end, changed);
      }
    }
    begin = end;
  }
  text = std::move(result);
}

AlignedText without_marks(const AlignedText& text, uint8_t mark) {
  AlignedTextBuilder result(text);
  const std::string_view bytes = text.view();
  for (std::size_t begin = utf8::skip_ascii(bytes, 0); begin < bytes.size();
       begin = utf8::skip_ascii(bytes, begin)) {
    std::size_t end = begin;
    if ((classes_of(utf8::next(bytes, end)) & mark) != 0) {
      result.replace(begin, end, "");
    }
    begin = end;
  }
  return result.finish();
}

AlignedText lowered(const AlignedText& text) {
  AlignedTextBuilder result(text);
  const std::string_view bytes = text.view();
  for (std::size_t begin = 0; begin < bytes.size();) {
    const auto byte = static_cast<unsigned char>(bytes[begin]);
    if (byte < 0x80 && (byte < 'A' || byte > 'Z')) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    const char32_t code = utf8::next(bytes, end);
    const char32_t lower = lower_case(code);
    if (code == 0x130) {
      result.replace(begin, end, "i\u0307");
    } else if (lower != code) {
      result.replace(begin, end, lower);
    }
    begin = end;
  }
  return result.finish();
}

std::unique_ptr<Normalizer> make_unicode_normalizer(const JsonFields& fields) {
  static const std::array<std::pair<std::string_view, UnicodeForm>, 4> kForms = {
      {{"NFC", UnicodeForm::kNfc},
       {"NFD", UnicodeForm::kNfd},
       {"NFKC", UnicodeForm::kNfkc},
       {"NFKD", UnicodeForm::kNfkd}}};
  const std::string type = fields.text("type");
  const auto found = std::find_if(kForms.begin(), kForms.end(),
                                  [&](const auto& form) { return form.first == type; });
  return std::make_unique<FormNormalizer>(found == kForms.end() ? UnicodeForm::kNfc
                                                                : found->second);
}

std::unique_ptr<Normalizer> make_strip_accents(const JsonFields&) {
  return std::make_unique<StripAccents>();
}

std::unique_ptr<Normalizer> make_lowercase(const JsonFields&) {
  return std::make_unique<Lowercase>();
}

}  // namespace weft::data
