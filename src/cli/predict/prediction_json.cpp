#include "cli/predict/prediction_json.h"

#include <algorithm>

#include "base/string_util.h"

namespace weft::cli {
namespace {

using formats::Json;

std::string name_of(const std::vector<std::string>& labels, std::size_t index) {
  return index < labels.size() ? labels[index] : str_cat("LABEL_", index);
}

Json named(const std::vector<double>& numbers, const std::vector<std::string>& labels) {
  Json json = Json::object();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    json[name_of(labels, i)] = numbers[i];
  }
  return json;
}

/// The most likely class; of two, the second from the threshold on.
std::size_t answer_chosen(const std::vector<double>& scores,
                          const objectives::DecisionThreshold& decision) {
  if (decision.threshold && scores.size() == 2) {
    return scores[1] >= *decision.threshold ? 1 : 0;
  }
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

Json several(const std::vector<double>& scores,
             const std::vector<std::string>& labels,
             const objectives::DecisionThreshold& decision) {
  Json line = {{"labels", Json::array()}};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= decision.threshold.value_or(0.5)) {
      line["labels"].push_back(name_of(labels, i));
    }
  }
  line["scores"] = named(scores, labels);
  return line;
}

Json fills_of(const inference::Prediction& prediction) {
  Json fills = Json::array();
  for (const auto& place : prediction.mask_predictions) {
    Json predictions = Json::array();
    for (const auto& fill : place) {
      predictions.push_back({{"token", fill.token}, {"id", fill.id}, {"score", fill.score}});
    }
    fills.push_back(predictions);
  }
  return fills;
}

}  // namespace

Json prediction_json(const inference::Prediction& prediction,
                     const models::ModelOptions& model,
                     const objectives::DecisionThreshold& decision) {
  const auto& labels = model.labels;
  Json line = Json::object();
  if (prediction.values.size() > 1) {
    line["values"] = named(prediction.values, labels);
  } else if (prediction.values.size() == 1) {
    line["value"] = prediction.values.front();
  } else if (prediction.scores.empty()) {
    line["fills"] = fills_of(prediction);
  } else if (model.is_multi_label) {
    line = several(prediction.scores, labels, decision);
  } else {
    const auto best = answer_chosen(prediction.scores, decision);
    line["label"] = name_of(labels, best);
    line["score"] = prediction.scores[best];
    line["scores"] = named(prediction.scores, labels);
  }
  return line;
}

}  // namespace weft::cli
