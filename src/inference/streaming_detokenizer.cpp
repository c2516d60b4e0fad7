#include "inference/streaming_detokenizer.h"

#include <algorithm>

namespace weft::inference {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD: incomplete character

/// End of the text that is safe to emit: excludes an ending that may start a stop string.
std::size_t safe_end(std::string_view text, const std::vector<std::string>& stop_strings) {
  std::size_t end = text.size();
  for (const auto& stop : stop_strings) {
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

std::string StreamingDetokenizer::emit_until(std::string_view text, std::size_t end) {
  if (end <= emitted_) {
    return {};
  }
  const auto piece = text.substr(emitted_, end - emitted_);
  emitted_ = end;
  return std::string(piece);
}

std::string StreamingDetokenizer::next(std::string_view text) {
  while (text.ends_with(kReplacementCharacter)) {
    text.remove_suffix(kReplacementCharacter.size());
  }
  const auto kept = truncate_at_stop(text, stop_strings_);
  return emit_until(kept, kept.size() < text.size() ? kept.size() : safe_end(kept, stop_strings_));
}

std::string StreamingDetokenizer::flush(std::string_view text) {
  return emit_until(text, text.size());
}

std::string_view truncate_at_stop(std::string_view text,
                                  const std::vector<std::string>& stop_strings) {
  std::size_t end = text.size();
  for (const auto& stop : stop_strings) {
    end = std::min(end, text.find(stop));
  }
  return text.substr(0, end);
}

}  // namespace weft::inference
