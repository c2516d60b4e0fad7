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
  std::vector<int64_t> attention_layers{};  // whose weights are wanted
  std::string language = {};                // of the texts, where the model tells languages apart
};

struct TagCounts {
  int64_t was_split = 0;    // sentences longer than the model takes, seen in stretches
  int64_t blank_lines = 0;  // of the input; they are no sentences
};

/// Tags the sentences of the input and hands over one JSON line for each, {"words", "tags",
/// "entities"}, as they come.
TagCounts answer_tags(models::Model& model,
                      const data::Tokenizer& tokenizer,
                      const TagRequest& request,
                      const std::function<void(const std::string&)>& write);

}  // namespace weft::cli
