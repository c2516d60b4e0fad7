#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "models/config/options.h"

namespace weft::batching {

/// Names, by their ids, of the languages that a model tells apart; empty: it tells none.
std::vector<std::string> languages_of(const models::ModelOptions& model);

/// Throws UserError where the model tells languages apart and `language` is none of them, or it
/// tells none apart and one is named.
void check_language(const models::ModelOptions& model, const std::string& language);

/// What a model is told of each token of the texts that it is asked about: its segment, its
/// language, or nothing.
class TokenTypes {
 public:
  /// `language`: of all the texts. Throws as check_language.
  TokenTypes(const models::ModelOptions& model, const std::string& language);

  /// `segments`: of the example's tokens, as the tokenizer has them.
  void tell(data::Example& example, std::vector<int64_t> segments) const;

 private:
  bool has_segments_;
  std::optional<int64_t> language_;
};

}  // namespace weft::batching
