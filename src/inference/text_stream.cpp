#include "inference/text_stream.h"

#include <algorithm>

namespace weft::inference {
namespace {

constexpr std::string_view kBroken = "\xEF\xBF\xBD";  // U+FFFD: bytes of a character are missing

/// Where the text may be shown to, that is, without an ending that is a stop's beginning.
std::size_t sure_end(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t end = text.size();
  for (const auto& stop : stops) {
    for (std::size_t size = std::min(stop.size(), text.size()); size > 0; --size) {
      if (text.ends_with(std::string_view(stop).substr(0, size))) {
        end = std::min(end, text.size() - size);
        break;
      }
    }
  }
  return end;
}

}  // namespace

std::string TextStream::up_to(std::string_view text, std::size_t end) {
  if (end <= shown_) {
    return {};
  }
  const auto piece = text.substr(shown_, end - shown_);
  shown_ = end;
  return std::string(piece);
}

std::string TextStream::next(std::string_view text) {
  while (text.ends_with(kBroken)) {
    text.remove_suffix(kBroken.size());
  }
  const auto kept = before_stops(text, stops_);
  return up_to(kept, kept.size() < text.size() ? kept.size() : sure_end(kept, stops_));
}

std::string TextStream::rest(std::string_view text) { return up_to(text, text.size()); }

std::string_view before_stops(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t end = text.size();
  for (const auto& stop : stops) {
    end = std::min(end, text.find(stop));
  }
  return text.substr(0, end);
}

}  // namespace weft::inference
