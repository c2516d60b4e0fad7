#pragma once

#include "formats/json.h"
#include "inference/predict.h"
#include "models/config/options.h"
#include "objectives/evaluation/decision.h"

namespace weft::cli {

/// The answer to one text, as `predict` writes it: {label, score, scores}; {labels, scores} where
/// each class is decided by itself; {value} or {values} of a regression; {fills}.
formats::Json answer_json(const inference::Prediction& prediction,
                          const models::ModelOptions& model,
                          const objectives::Decision& decision);

}  // namespace weft::cli
