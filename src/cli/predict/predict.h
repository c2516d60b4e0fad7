#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "formats/json.h"
#include "inference/attention_map.h"
#include "inference/predict.h"
#include "models/config/options.h"
#include "models/model.h"
#include "objectives/evaluation/decision_threshold.h"

namespace weft::cli {

/// Prediction for one text, as `predict` writes it: {label, score, scores}; {labels, scores} for
/// multi-label models; {value} or {values} for regression; {fills}.
formats::Json prediction_json(const inference::Prediction& prediction,
                              const models::ModelOptions& model,
                              const objectives::DecisionThreshold& decision);

/// Layers selected by `all`, `last` or `0,3` in a model with `layers` layers. Throws UsageError.
std::vector<int64_t> read_layers(const std::string& words, int64_t layers);

/// Adds `tokens`, for pairs `segments` (0 and 1), and `attention`: by layer number, for each head,
/// a row of weights for each token, rounded to six significant digits.
void add_attention(formats::Json& line,
                   const inference::AttentionMap& map,
                   const data::Tokenizer& tokenizer);

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
