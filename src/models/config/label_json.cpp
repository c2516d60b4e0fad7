#include <charconv>
#include <map>

#include "base/string_util.h"
#include "models/config/config_json.h"
#include "models/config/heads.h"

namespace weft::models {

using formats::Json;

namespace {

constexpr int64_t kMostLabels = 1 << 20;

std::vector<std::string> labels_of(const JsonFields& fields) {
  if (!fields.has("id2label")) {
    int64_t count = 2;
    fields.read("num_labels", count, 1, kMostLabels);
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) {
      names.push_back(str_cat("LABEL_", i));
    }
    return names;
  }
  const auto& table = fields.at("id2label");
  if (!table.is_object() || table.empty() || table.size() > static_cast<std::size_t>(kMostLabels)) {
    fields.fail("id2label", "must be an object with class names by index");
  }
  std::map<int64_t, std::string> names;
  for (const auto& [key, name] : table.items()) {
    int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || !name.is_string()) {
      fields.fail("id2label", "names must have an index as key, found the key " + quoted_text(key));
    }
    names[id] = name.get<std::string>();
  }
  if (names.begin()->first != 0 ||
      names.rbegin()->first != static_cast<int64_t>(names.size()) - 1) {
    fields.fail("id2label", str_cat("the indices must be 0 to ", names.size() - 1, ", found ",
                                    names.begin()->first, " to ", names.rbegin()->first));
  }
  std::vector<std::string> result;
  for (const auto& [id, name] : names) {
    result.push_back(name);
  }
  return result;
}

std::string_view problem_of(const ModelOptions& options) {
  return options.is_regression    ? "regression"
         : options.is_multi_label ? "multi_label_classification"
                                  : "single_label_classification";
}

}  // namespace

void read_labels(const JsonFields& fields, ModelOptions& options) {
  if (!head_of(options).has_classes()) {
    return;
  }
  options.labels = labels_of(fields);
  std::string problem;
  fields.read("problem_type", problem);
  const bool is_known = problem.empty() || problem == "regression" ||
                        problem == "single_label_classification" ||
                        problem == "multi_label_classification";
  if (!is_known) {
    fields.fail(
        "problem_type",
        "found " + quoted_text(problem) +
            ", allowed is regression, single_label_classification, multi_label_classification");
  }
  const bool has_problem = head_of(options).has_problem_type;
  options.is_regression =
      has_problem && (problem == "regression" || (problem.empty() && options.labels.size() == 1));
  options.is_multi_label = has_problem && problem == "multi_label_classification";
  if (options.is_regression && options.labels.size() == 1) {
    options.labels.clear();  // the name of a single output carries no information
  }
}

void write_labels(Json& json, const ModelOptions& options) {
  if (!head_of(options).has_classes()) {
    return;
  }
  auto labels = options.labels;
  if (labels.empty()) {
    labels.emplace_back("LABEL_0");
  }
  Json names = Json::object();
  Json ids = Json::object();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    names[std::to_string(i)] = labels[i];
    ids[labels[i]] = i;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
  if (head_of(options).has_problem_type) {
    json["problem_type"] = problem_of(options);
  }
}

}  // namespace weft::models
