#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "models/model.h"

namespace weft::cli {

struct TagRequest {
  std::string input = "-";                  // JSON lines with `text` or `words`
  std::vector<int64_t> attention_layers{};  // whose attention weights are requested
  std::string language = {};                // of the texts, for multilingual models
};

struct TaggedCounts {
  int64_t split_sentences = 0;  // sentences too long for the model, split into windows
  int64_t blank_lines = 0;      // of the input; not counted as sentences
};

/// Tags the sentences of the input and emits one JSON line for each, {"words", "tags", "entities"},
/// as they come.
TaggedCounts write_tag_predictions(models::Model& model,
                                   const data::Tokenizer& tokenizer,
                                   const TagRequest& request,
                                   const std::function<void(const std::string&)>& write);

}  // namespace weft::cli
