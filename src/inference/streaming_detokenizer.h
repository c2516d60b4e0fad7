#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::inference {

/// Emits a growing text in pieces: never an incomplete character, and nothing that may be the start
/// of a stop string.
class StreamingDetokenizer {
 public:
  explicit StreamingDetokenizer(const std::vector<std::string>& stop_strings)
      : stop_strings_(stop_strings) {}

  /// Returns the new part of `text`, which must extend the earlier texts.
  std::string next(std::string_view text);
  /// Returns the rest of the complete text; `text` must already end before any stop string.
  std::string flush(std::string_view text);

 private:
  std::string emit_until(std::string_view text, std::size_t end);

  const std::vector<std::string>& stop_strings_;
  std::size_t emitted_ = 0;
};

/// The text before the first stop string in it.
std::string_view truncate_at_stop(std::string_view text,
                                  const std::vector<std::string>& stop_strings);

}  // namespace weft::inference
