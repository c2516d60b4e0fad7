#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/predict/request_reader.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "inference/attention_map.h"
#include "inference/predict.h"
#include "inference/predict_tags.h"
#include "models/config/options.h"
#include "models/model.h"
#include "objectives/evaluation/decision_threshold.h"
#include "train/distributed/process_group.h"

namespace weft::cli {

/// Prediction for one text, as `predict` writes it: {label, score, scores}; {labels, scores} for
/// multi-label models; {value} or {values} for regression; {fills}.
formats::Json prediction_json(const inference::Prediction& prediction,
                              const models::ModelOptions& model,
                              const objectives::DecisionThreshold& decision);

/// Adds `tokens`, for pairs `segments` (0 and 1), and `attention`: by layer number, for each head,
/// a row of weights for each token, rounded to six significant digits.
void add_attention(formats::Json& line,
                   const inference::AttentionMap& map,
                   const data::Tokenizer& tokenizer);

/// Answers rows of the input, one JSON object for each.
class RowPredictor {
 public:
  virtual ~RowPredictor() = default;
  virtual std::vector<formats::Json> answer(const std::vector<InputRow>& rows) = 0;
  /// Warns about conditions of the rows, of all ranks, that a user should know about.
  virtual void report(train::ProcessGroup& group) = 0;
};

/// Tags the words of {"words"} or {"tokens"}, else those of a text: {"words", "tags", "scores",
/// "entities"}. Model and tokenizer must outlive it.
std::unique_ptr<RowPredictor> make_tag_predictor(models::Model& model,
                                                 const data::Tokenizer& tokenizer,
                                                 inference::TagPredictOptions options,
                                                 RequestColumns columns);

/// Tags the sentences of {"sentences"}, else those of a text, which is divided as in
/// classification:
/// {"sentences", "tags", "scores"}. Model and tokenizer must outlive it.
std::unique_ptr<RowPredictor> make_sentence_tag_predictor(models::Model& model,
                                                          const data::Tokenizer& tokenizer,
                                                          inference::TagPredictOptions options,
                                                          RequestColumns columns);

/// Those of the texts to tag; none if the input is a table with lists of words or sentences.
RequestColumns columns_to_tag(const Arguments& arguments, const InputReader& input);

}  // namespace weft::cli
