#include "base/codepoints.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

#include <utf8proc.h>

#include "base/utf8.h"

namespace weft {

namespace {

struct Range {
  char32_t first, last;
};

struct LowerRange {
  char32_t first, last;
  int32_t distance;
  int32_t step;
};

#include "base/unicode_ranges.inc"

constexpr char32_t kCodepoints = 0x110000;

std::vector<uint8_t> class_table() {
  std::vector<uint8_t> table(kCodepoints, 0);
  const auto mark = [&](std::span<const Range> ranges, uint8_t bit) {
    for (const Range& range : ranges) {
      for (char32_t code = range.first; code <= range.last; ++code) {
        table[code] |= bit;
      }
    }
  };
  mark(kControl, kIsControl);
  mark(kPunctuation, kIsPunctuation);
  mark(kNonspacingMark, kIsNonspacingMark);
  mark(kCombiningMark, kIsCombiningMark);
  mark(kLetter, kIsLetter);
  mark(kNumber, kIsNumber);
  mark(kWord, kIsWord);
  mark(kInert, kIsInert);
  return table;
}

}  // namespace

uint8_t classes_of(char32_t code) {
  static const std::vector<uint8_t> table = class_table();
  return code < kCodepoints ? table[code] : 0;
}

bool is_white_space(char32_t code) {
  if (code < 0x80) {
    return code == ' ' || (code >= 0x9 && code <= 0xD);
  }
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_ideograph(char32_t code) {
  static constexpr std::array<Range, 7> blocks = {{{0x3400, 0x4DBF},
                                                   {0x4E00, 0x9FFF},
                                                   {0xF900, 0xFAFF},
                                                   {0x20000, 0x2A6DF},
                                                   {0x2A700, 0x2B81F},
                                                   {0x2B920, 0x2CEAF},
                                                   {0x2F800, 0x2FA1F}}};
  return code >= blocks.front().first &&
         std::any_of(blocks.begin(), blocks.end(),
                     [&](Range block) { return code >= block.first && code <= block.last; });
}

char32_t lower_case(char32_t code) {
  const LowerRange* found =
      std::upper_bound(std::begin(kLower), std::end(kLower), code,
                       [](char32_t c, const LowerRange& range) { return c < range.first; });
  if (found == std::begin(kLower)) {
    return code;
  }
  --found;
  if (code > found->last || (found->step == 2 && (code - found->first) % 2 != 0)) {
    return code;
  }
  return static_cast<char32_t>(static_cast<int32_t>(code) + found->distance);
}

namespace {

constexpr char32_t kSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;
constexpr char32_t kDottedCapitalI = 0x130;
constexpr char32_t kDotAbove = 0x307;

bool is_letter_at(std::u32string_view text, std::size_t at) {
  return at < text.size() && kind_of(text[at]) == CharacterKind::kLetter;
}

}  // namespace

CharacterKind kind_of(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterKind::kLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return CharacterKind::kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterKind::kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return CharacterKind::kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return CharacterKind::kSymbol;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharacterKind::kSeparator;
    default:
      return CharacterKind::kOther;
  }
}

std::size_t leading_white_space(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size() && is_white_space(utf8::next(text, at));) {
    end = at;
  }
  return end;
}

std::size_t trailing_white_space(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t begin = utf8::begin_of_last(rest);
    std::size_t at = begin;
    if (!is_white_space(utf8::next(rest, at))) {
      break;
    }
    rest = rest.substr(0, begin);
  }
  return text.size() - rest.size();
}

bool is_python_space(char32_t code) {
  return is_white_space(code) || (code >= 0x1C && code <= 0x1F);
}

std::u32string python_lower(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kDottedCapitalI) {
      result += {U'i', kDotAbove};
    } else if (text[i] == kSigma && i > 0 && is_letter_at(text, i - 1) &&
               !is_letter_at(text, i + 1)) {
      result += kFinalSigma;  // at the end of a word
    } else {
      result += lower_case(text[i]);
    }
  }
  return result;
}

}  // namespace weft
