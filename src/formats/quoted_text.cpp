#include "formats/quoted_text.h"

#include <algorithm>
#include <cstddef>

#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::formats {

namespace {

constexpr std::size_t kMaxLength = 60;

}  // namespace

std::string quoted_text(std::string_view word) {
  std::size_t end = std::min(word.size(), kMaxLength);
  while (end < word.size() && end > kMaxLength - 4 && (word[end] & 0xC0) == 0x80) {
    --end;  // do not split a character
  }
  std::string shown = utf8::replace_invalid(word.substr(0, end));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      c = '?';
    }
  }
  return "'" + shown + (end < word.size() ? "...'" : "'");
}

std::string quoted_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxShown = 12;
  std::vector<std::string> shown;
  for (std::size_t index = 0; index < std::min(names.size(), kMaxShown); ++index) {
    shown.push_back(quoted_text(names[index]));
  }
  if (names.size() > kMaxShown) {
    shown.push_back(str_cat("and ", names.size() - kMaxShown, " more"));
  }
  return join(shown);
}

}  // namespace weft::formats
