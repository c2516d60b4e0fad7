#include "batching/token_type_ids.h"

#include <utility>

#include "base/error.h"
#include "base/string_util.h"
#include "data/text/languages.h"
#include "models/config/family.h"

namespace weft::batching {

std::vector<std::string> languages_of(const models::ModelOptions& model) {
  return models::uses_language_ids(model) ? model.xlm.languages : std::vector<std::string>{};
}

void check_language(const models::ModelOptions& model, const std::string& language) {
  const auto family = models::word_of(model.family);
  if (!language.empty() && !models::uses_language_ids(model)) {
    throw UserError(str_cat("language: ", language, ", but this ", family,
                            " has no language embeddings; omit it"));
  }
  data::language_id(language, languages_of(model), family);
}

TokenTypeIds::TokenTypeIds(const models::ModelOptions& model, const std::string& language)
    : has_segments_(models::uses_token_type_ids(model)) {
  check_language(model, language);
  language_ = data::language_id(language, languages_of(model), models::word_of(model.family));
}

void TokenTypeIds::assign(data::Example& example, std::vector<int64_t> segments) const {
  if (language_) {
    data::set_language(example, *language_);
  } else if (has_segments_) {
    example.token_type_ids = std::move(segments);
  }
}

}  // namespace weft::batching
