#include "data/text/languages.h"

#include <algorithm>

#include "base/string_util.h"
#include "data/error.h"

namespace weft::data {

std::optional<std::string> language_error(std::string_view language,
                                          const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), language) != known.end()) {
    return std::nullopt;
  }
  const auto found = language.empty() ? std::string("missing") : quoted_text(std::string(language));
  return str_cat(found, ", must be one of the model's languages: ", join(known));
}

std::optional<int64_t> language_id(std::string_view language,
                                   const std::vector<std::string>& known,
                                   std::string_view location,
                                   std::string_view key) {
  if (known.empty()) {
    return std::nullopt;
  }
  if (const auto mistake = language_error(language, known)) {
    throw Error(str_cat(location, ": ", key, ": ", *mistake));
  }
  return std::find(known.begin(), known.end(), language) - known.begin();
}

void set_language(Example& example, int64_t id) {
  example.token_type_ids.assign(example.ids.size(), id);
}

}  // namespace weft::data
