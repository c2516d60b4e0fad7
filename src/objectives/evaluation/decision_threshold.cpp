#include "objectives/evaluation/decision_threshold.h"

#include <filesystem>
#include <stdexcept>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/error.h"
#include "formats/json.h"

namespace weft::objectives {

namespace {

std::string path_in(const std::string& directory) { return directory + "/weft_task.json"; }

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

DecisionThreshold read_decision_threshold(const std::string& directory) {
  const auto path = path_in(directory);
  if (!std::filesystem::exists(path)) {
    return {};
  }
  const auto json = formats::read_json(path);
  const auto value = json.is_object() ? json.find("threshold") : json.end();
  if (value == json.end() || !value->is_number() || value->get<double>() < 0 ||
      value->get<double>() > 1) {
    throw formats::Error(str_cat(path, ": threshold: must be a number from 0 to 1"));
  }
  const auto by = json.find("tuned_by");
  return {.threshold = value->get<double>(),
          .tuned_by = by != json.end() && by->is_string() ? by->get<std::string>() : ""};
}

void write_decision_threshold(const std::string& directory,
                              const DecisionThreshold& decision_threshold) {
  if (!decision_threshold.threshold) {
    return;
  }
  formats::Json json = {{"threshold", *decision_threshold.threshold}};
  if (!decision_threshold.tuned_by.empty()) {
    json["tuned_by"] = decision_threshold.tuned_by;
  }
  FileWriter writer(path_in(directory), FileWriter::Mode::kPlain);
  writer.write(json.dump(2) + "\n");
  writer.commit();
}

}  // namespace weft::objectives
