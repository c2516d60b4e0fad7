#include "formats/in_quotes.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::formats {

namespace {

constexpr std::size_t kLongest = 60;

}  // namespace

std::string in_quotes(std::string_view word) {
  std::size_t end = std::min(word.size(), kLongest);
  while (end < word.size() && end > kLongest - 4 && (word[end] & 0xC0) == 0x80) {
    --end;  // not in the middle of a character
  }
  std::string shown = utf8::repaired(word.substr(0, end));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      c = '?';
    }
  }
  return "'" + shown + (end < word.size() ? "...'" : "'");
}

std::string in_quotes(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 12;
  std::vector<std::string> shown;
  for (std::size_t index = 0; index < std::min(names.size(), kMostShown); ++index) {
    shown.push_back(in_quotes(names[index]));
  }
  if (names.size() > kMostShown) {
    shown.push_back(text("and ", names.size() - kMostShown, " more"));
  }
  return join(shown);
}

}  // namespace weft::formats
