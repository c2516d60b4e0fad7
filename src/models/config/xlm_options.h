#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::models {

/// Options of XLM in addition to BERT's (arXiv:1901.07291).
struct XlmOptions {
  std::vector<std::string> languages = {};  // names by id; empty: a single, unnamed language
  bool uses_language_embeddings = true;     // a vector for each, if there are several
  /// Standard deviation of initial embeddings; nullopt: dim ^ -0.5.
  std::optional<double> embedding_init_std = {};
};

}  // namespace weft::models
