#include "data/text/languages.h"

#include <algorithm>

#include "base/text.h"
#include "data/error.h"
#include "formats/in_quotes.h"

namespace weft::data {

std::optional<std::string> language_mistake(std::string_view language,
                                            const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), language) != known.end()) {
    return std::nullopt;
  }
  const auto found =
      language.empty() ? std::string("is missing") : formats::in_quotes(std::string(language));
  return text(found, ", must be one of those that the model tells apart: ", join(known));
}

std::optional<int64_t> language_id(std::string_view language,
                                   const std::vector<std::string>& known,
                                   std::string_view place,
                                   std::string_view key) {
  if (known.empty()) {
    return std::nullopt;
  }
  if (const auto mistake = language_mistake(language, known)) {
    throw Error(text(place, ": ", key, ": ", *mistake));
  }
  return std::find(known.begin(), known.end(), language) - known.begin();
}

void set_language(Example& example, int64_t id) { example.types.assign(example.ids.size(), id); }

}  // namespace weft::data
