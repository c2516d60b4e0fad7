#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::models {

/// What XLM has beside BERT (arXiv:1901.07291).
struct XlmOptions {
  std::vector<std::string> languages = {};  // names by id; empty: one that has no name
  bool embeds_languages = true;             // a vector for each, where there are several
  /// Of the normal that initialises embeddings; nothing: dim ^ -0.5.
  std::optional<double> embedding_deviation = {};
};

}  // namespace weft::models
