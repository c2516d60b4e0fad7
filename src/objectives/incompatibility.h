#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/options.h"

namespace weft::objectives {

/// A key of `objective:` that is incompatible with the model, and why. The allowed types are added
/// to a message about `type` (find_incompatibility in objective_registry.h).
struct Incompatibility {
  std::string key;
  std::string message;
};

/// "NAME cannot train a model of type TYPE, which REASON", about `type`.
Incompatibility cannot_train(std::string_view name,
                             const models::ModelOptions& model,
                             std::string_view reason);

/// `allowed is a`, `allowed are a, b`.
std::string allowed_are(const std::vector<std::string>& words);

/// For an objective on tokens of text: refuses models of images and those that predict whole texts
/// only, and families without the head ("which has no DESCRIPTION").
std::optional<Incompatibility> requires_text_head(std::string_view name,
                                                  const models::ModelOptions& model,
                                                  models::Head head,
                                                  std::string_view description);

/// For an objective on whole texts: families without a head for them; mBART, whose head for whole
/// texts needs the end of the text last, where its tokenizer puts the language.
std::optional<Incompatibility> requires_sequence_head(std::string_view name,
                                                      const models::ModelOptions& model);

}  // namespace weft::objectives
