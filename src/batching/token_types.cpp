#include "batching/token_types.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/text/languages.h"
#include "models/config/family.h"

namespace weft::batching {

std::vector<std::string> languages_of(const models::ModelOptions& model) {
  return models::tells_languages(model) ? model.xlm.languages : std::vector<std::string>{};
}

void check_language(const models::ModelOptions& model, const std::string& language) {
  const auto place = models::word_of(model.family);
  if (!language.empty() && !models::tells_languages(model)) {
    throw UserError(text("language: ", language, ", but this ", place,
                         " tells no languages apart; leave it out"));
  }
  data::language_id(language, languages_of(model), place);
}

TokenTypes::TokenTypes(const models::ModelOptions& model, const std::string& language)
    : has_segments_(models::tells_segments(model)) {
  check_language(model, language);
  language_ = data::language_id(language, languages_of(model), models::word_of(model.family));
}

void TokenTypes::tell(data::Example& example, std::vector<int64_t> segments) const {
  if (language_) {
    data::set_language(example, *language_);
  } else if (has_segments_) {
    example.types = std::move(segments);
  }
}

}  // namespace weft::batching
