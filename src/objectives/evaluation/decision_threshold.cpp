#include "objectives/evaluation/decision_threshold.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/error.h"
#include "formats/json.h"

namespace weft::objectives {

namespace {

std::string path_in(const std::string& directory) { return directory + "/weft_task.json"; }

std::string string_in(const formats::Json& json, const std::string& key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string name_of(metrics::ThresholdMetric metric) {
  switch (metric) {
    case metrics::ThresholdMetric::kF1:
      return "f1";
    case metrics::ThresholdMetric::kAccuracy:
      return "accuracy";
    case metrics::ThresholdMetric::kMatthews:
      return "matthews_correlation";
  }
  throw std::logic_error("threshold metric without a name");
}

int64_t DecisionThreshold::positive_class(const std::vector<std::string>& labels) const {
  return !labels.empty() && labels.front() == positive_label ? 0 : 1;
}

int64_t DecisionThreshold::predicted_class(const std::vector<double>& probabilities,
                                           const std::vector<std::string>& labels) const {
  if (threshold && probabilities.size() == 2) {
    const auto positive = positive_class(labels);
    return probabilities[static_cast<std::size_t>(positive)] >= *threshold ? positive
                                                                           : 1 - positive;
  }
  return std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
}

DecisionThreshold read_decision_threshold(const std::string& directory) {
  const auto path = path_in(directory);
  if (!std::filesystem::exists(path)) {
    return {};
  }
  const auto json = formats::read_json(path);
  if (!json.is_object()) {
    throw formats::Error(path + ": must be a JSON object");
  }
  DecisionThreshold decision{.tuned_by = string_in(json, "tuned_by"),
                             .positive_label = string_in(json, "positive_label")};
  if (const auto value = json.find("threshold"); value != json.end()) {
    if (!value->is_number() || value->get<double>() < 0 || value->get<double>() > 1) {
      throw formats::Error(str_cat(path, ": threshold: must be a number from 0 to 1"));
    }
    decision.threshold = value->get<double>();
  }
  return decision;
}

void write_decision_threshold(const std::string& directory,
                              const DecisionThreshold& decision_threshold) {
  formats::Json json = formats::Json::object();
  if (decision_threshold.threshold) {
    json["threshold"] = *decision_threshold.threshold;
  }
  if (!decision_threshold.tuned_by.empty()) {
    json["tuned_by"] = decision_threshold.tuned_by;
  }
  if (!decision_threshold.positive_label.empty()) {
    json["positive_label"] = decision_threshold.positive_label;
  }
  if (!decision_threshold.threshold && decision_threshold.positive_label.empty()) {
    return;
  }
  FileWriter writer(path_in(directory), FileWriter::Mode::kPlain);
  writer.write(json.dump(2) + "\n");
  writer.commit();
}

}  // namespace weft::objectives
