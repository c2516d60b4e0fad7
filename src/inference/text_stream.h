#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::inference {

/// Shows a growing text piece by piece: never the half of a character, and nothing that may turn
/// out to be the begin of a stop.
class TextStream {
 public:
  explicit TextStream(const std::vector<std::string>& stops) : stops_(stops) {}

  /// What is new in `text`, which begins as the texts before did.
  std::string next(std::string_view text);
  /// The rest, where nothing more comes; `text` ends before its stop already.
  std::string rest(std::string_view text);

 private:
  std::string up_to(std::string_view text, std::size_t end);

  const std::vector<std::string>& stops_;
  std::size_t shown_ = 0;
};

/// The text up to the first of the stops in it.
std::string_view before_stops(std::string_view text, const std::vector<std::string>& stops);

}  // namespace weft::inference
