#include "data/tokenizers/aligned_text.h"

#include <algorithm>

#include "base/utf8.h"
#include "data/error.h"

namespace weft::data {

namespace {

/// Limit against malicious files: rules that lengthen texts can be chained.
constexpr std::size_t kAlignedTextMostBytes = std::size_t{1} << 28;

}  // namespace

AlignedText::AlignedText(std::string_view text, bool is_tracked, std::size_t offset) {
  assign(text, is_tracked, offset);
}

void AlignedText::assign(std::string_view text, bool is_tracked, std::size_t offset) {
  bytes_.assign(text);
  is_tracked_ = is_tracked;
  origins_.clear();
  if (!is_tracked) {
    return;
  }
  origins_.reserve(text.size());
  // Each byte maps to the whole code point that contains it.
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    utf8::next(text, end);
    origins_.insert(origins_.end(), end - begin, TextRange{offset + begin, offset + end});
    begin = end;
  }
}

void AlignedText::append_unchanged(const AlignedText& from, std::size_t begin, std::size_t end) {
  bytes_.append(from.bytes_, begin, end - begin);
  if (is_tracked_) {
    origins_.insert(origins_.end(), from.origins_.begin() + static_cast<std::ptrdiff_t>(begin),
                    from.origins_.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

void AlignedText::append_replaced(const AlignedText& from,
                                  std::size_t begin,
                                  std::size_t end,
                                  std::string_view bytes) {
  if (bytes.size() > kAlignedTextMostBytes ||
      bytes_.size() > kAlignedTextMostBytes - bytes.size()) {
    throw Error("the tokenizer's normalizer produces more than 256 MiB from one text");
  }
  bytes_.append(bytes);
  if (is_tracked_) {
    origins_.insert(origins_.end(), bytes.size(), from.origin(begin, end));
  }
}

void AlignedText::append_replaced(const AlignedText& from,
                                  std::size_t begin,
                                  std::size_t end,
                                  char32_t code) {
  const std::size_t before = bytes_.size();
  utf8::append(bytes_, code);
  if (is_tracked_) {
    origins_.insert(origins_.end(), bytes_.size() - before, from.origin(begin, end));
  }
}

TextRange AlignedText::origin(std::size_t begin, std::size_t end) const {
  if (begin < end) {
    TextRange whole = origins_[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
      whole.begin = std::min(whole.begin, origins_[i].begin);
      whole.end = std::max(whole.end, origins_[i].end);
    }
    return whole;
  }
  if (begin < origins_.size()) {
    return {origins_[begin].begin, origins_[begin].begin};
  }
  return origins_.empty() ? TextRange{} : TextRange{origins_.back().end, origins_.back().end};
}

AlignedText repaired_text(std::string_view text, bool is_tracked) {
  const AlignedText whole(text, is_tracked);
  AlignedText repaired(is_tracked);
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    repaired.append_replaced(whole, begin, end, utf8::next(text, end));
    begin = end;
  }
  return repaired;
}

}  // namespace weft::data
