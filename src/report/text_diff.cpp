#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/string_util.h"
#include "report/page/page.h"

namespace weft::report {

namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  auto words = split(text, ' ');
  std::erase(words, std::string_view());
  return words;
}

}  // namespace

std::vector<TextSpan> word_differences(const std::string& reference, const std::string& text) {
  const auto a = words_of(reference);
  const auto b = words_of(text);
  // longest[i][j]: length of the longest common subsequence of the words from i and from j on.
  std::vector<std::vector<std::size_t>> longest(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] =
          a[i] == b[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::vector<TextSpan> spans;
  const auto add = [&](std::string_view word, TextSpan::Kind kind) {
    spans.push_back({.text = std::string(word), .kind = kind});
    spans.push_back({.text = " "});
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      add(b[j++], TextSpan::Kind::kPlain);
      ++i;
    } else if (j == b.size() || (i < a.size() && longest[i + 1][j] >= longest[i][j + 1])) {
      add(a[i++], TextSpan::Kind::kDeleted);
    } else {
      add(b[j++], TextSpan::Kind::kInserted);
    }
  }
  return spans;
}

}  // namespace weft::report
