#include "base/string_util.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/predict/predict.h"
#include "data/labels.h"

namespace weft::cli {

namespace {

using formats::Json;

Json named(const std::vector<double>& numbers, const std::vector<std::string>& labels) {
  Json json = Json::object();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    json[data::label_name(labels, static_cast<int64_t>(i))] = numbers[i];
  }
  return json;
}

Json several(const std::vector<double>& scores,
             const std::vector<std::string>& labels,
             const objectives::DecisionThreshold& decision) {
  Json line = {{"labels", Json::array()}};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= decision.threshold.value_or(0.5)) {
      line["labels"].push_back(data::label_name(labels, static_cast<int64_t>(i)));
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
      predictions.push_back({{"token", fill.token},
                             {"token_str", fill.token_str},
                             {"id", fill.id},
                             {"score", fill.score}});
    }
    fills.push_back(predictions);
  }
  return fills;
}

using formats::Json;

constexpr int kFloatDigits = 6;  // reliable in fp32

/// (H, L, L) as nested lists.
Json heads_json(const at::Tensor& weights) {
  const auto* value = weights.const_data_ptr<float>();
  Json heads = Json::array();
  for (int64_t head = 0; head < weights.size(0); ++head) {
    Json rows = Json::array();
    for (int64_t query = 0; query < weights.size(1); ++query) {
      Json row = Json::array();
      for (int64_t key = 0; key < weights.size(2); ++key) {
        row.push_back(round_to_digits(*value++, kFloatDigits));
      }
      rows.push_back(std::move(row));
    }
    heads.push_back(std::move(rows));
  }
  return heads;
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
    const auto best = static_cast<std::size_t>(decision.predicted_class(prediction.scores, labels));
    line["label"] = data::label_name(labels, static_cast<int64_t>(best));
    line["score"] = prediction.scores[best];
    line["scores"] = named(prediction.scores, labels);
  }
  if (prediction.layers > 0) {
    line["layers"] = prediction.layers;
  }
  return line;
}

void add_attention(Json& line,
                   const inference::AttentionMap& map,
                   const data::Tokenizer& tokenizer) {
  line["tokens"] = Json::array();
  for (const int64_t id : map.ids) {
    line["tokens"].push_back(utf8::replace_invalid(tokenizer.piece(static_cast<int32_t>(id))));
  }
  if (!map.segments.empty()) {
    line["segments"] = map.segments;
  }
  line["attention"] = Json::object();
  for (const auto& [layer, weights] : map.layers) {
    line["attention"][str_cat(layer)] = heads_json(weights);
  }
}

}  // namespace weft::cli
