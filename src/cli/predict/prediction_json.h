#pragma once

#include "formats/json.h"
#include "inference/predict.h"
#include "models/config/options.h"
#include "objectives/evaluation/decision_threshold.h"

namespace weft::cli {

/// Prediction for one text, as `predict` writes it: {label, score, scores}; {labels, scores} for
/// multi-label models; {value} or {values} for regression; {fills}.
formats::Json prediction_json(const inference::Prediction& prediction,
                              const models::ModelOptions& model,
                              const objectives::DecisionThreshold& decision);

}  // namespace weft::cli
