#include "objectives/incompatibility.h"

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"

namespace weft::objectives {

Incompatibility cannot_train(std::string_view name,
                             const models::ModelOptions& model,
                             std::string_view reason) {
  return {"type", str_cat(name, " cannot train a model of type ", models::word_of(model.family),
                          ", which ", reason)};
}

std::string allowed_are(const std::vector<std::string>& words) {
  return str_cat("allowed ", words.size() == 1 ? "is " : "are ", join(words));
}

std::optional<Incompatibility> requires_text_head(std::string_view name,
                                                  const models::ModelOptions& model,
                                                  models::Head head,
                                                  std::string_view description) {
  if (models::is_baseline(model.family)) {
    return cannot_train(name, model, "only supports sequence classification and regression");
  }
  if (models::reads_images(model)) {
    return cannot_train(name, model, "reads images");
  }
  if (!models::has_head(model.family, head)) {
    return cannot_train(name, model, str_cat("has no ", description));
  }
  return std::nullopt;
}

std::optional<Incompatibility> requires_sequence_head(std::string_view name,
                                                      const models::ModelOptions& model) {
  if (!models::has_head(model.family, models::Head::kSequence)) {
    return cannot_train(name, model, "has no sequence classification head");
  }
  if (models::capabilities_of(model.family).has_language_tokens) {
    return cannot_train(name, model,
                        "has a sequence classification head that needs the end-of-sequence token "
                        "last, where its tokenizer puts the language token");
  }
  return std::nullopt;
}

}  // namespace weft::objectives
