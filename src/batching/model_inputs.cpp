#include "batching/model_inputs.h"

#include <utility>

#include "base/error.h"
#include "base/string_util.h"
#include "data/images/image_format.h"
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

std::optional<data::SentenceLimits> sentence_limits(const models::ModelOptions& model,
                                                    int64_t length) {
  if (!model.document) {
    return std::nullopt;
  }
  return data::SentenceLimits{.sentences = model.document->sentences,
                              .sentence_length = model.document->sentence_length,
                              .length = length};
}

void reject_documents(const models::ModelOptions& model, const std::string& action) {
  if (model.document) {
    throw UserError(str_cat(action,
                            ": is not possible with a model that reads documents sentence "
                            "by sentence (model.document)"));
  }
}

data::ImageSettings image_settings(const models::ModelOptions& model,
                                   const data::ImageOptions& options,
                                   const data::Tokenizer& pixels) {
  const auto& vision = model.vision;
  data::ImageSettings settings;
  settings.format =
      data::make_preprocessor_config(options, data::preprocessor_config_of(pixels),
                                     {vision.image_size, vision.grid(), vision.channels});
  settings.patch = vision.patch_size;
  settings.has_class_token = vision.has_class_token;
  settings.has_distillation_token = vision.has_distillation_token;
  return settings;
}

}  // namespace weft::batching
