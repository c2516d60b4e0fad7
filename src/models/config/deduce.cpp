#include "models/config/deduce.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/weights/names.h"
#include "models/weights/weights.h"

namespace weft::models {

using formats::Json;

namespace {

// The richest first: each has what those after it would be content with.
constexpr std::array kHeadsByWealth = {
    Head::kPretraining, Head::kMaskedLm,    Head::kNextSentence,  Head::kSequence,
    Head::kToken,       Head::kSpan,        Head::kReplacedToken, Head::kConditional,
    Head::kCausalLm,    Head::kTaughtImage, Head::kImage,         Head::kMaskedImage};

bool has(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  return found != json.end() && !found->is_null() && !(found->is_array() && found->empty());
}

/// The family whose class names begin like this one.
const FamilyFacts* family_of_class(const Json& json) {
  const auto found = json.find("architectures");
  if (found == json.end() || !found->is_array() || found->empty() || !found->at(0).is_string()) {
    return nullptr;
  }
  const auto name = found->at(0).get<std::string>();
  const FamilyFacts* best = nullptr;
  for (const auto& facts : all_facts()) {
    const bool is_longer = best == nullptr || facts.classes.size() > best->classes.size();
    if (name.starts_with(facts.classes) && is_longer) {
      best = &facts;
    }
  }
  return best;
}

/// The family whose prefix most tensors bear; the first of those that share a prefix.
const FamilyFacts* family_of_tensors(const WeightFiles& files) {
  for (const auto& facts : all_facts()) {
    const auto prefix = std::string(facts.prefix) + ".";
    for (const auto& name : files.names()) {
      if (name.starts_with(prefix) && prefix.size() > 1) {
        return &facts;
      }
    }
  }
  return nullptr;
}

const formats::TensorView* find(const WeightFiles& files,
                                const StoredTensor& tensor,
                                const ModelOptions& options) {
  for (const auto& name : spellings(tensor, options)) {
    if (const auto* view = files.find(name)) {
      return view;
    }
  }
  return nullptr;
}

/// Rows of the last tensor of the head, where the files have all of head and pooler.
std::optional<int64_t> head_rows(const WeightFiles& files, const ModelOptions& options) {
  std::optional<int64_t> rows;
  for (const auto& tensor : stored_tensors(options)) {
    if (tensor.part == Part::kBackbone) {
      continue;
    }
    const auto* view = find(files, tensor, options);
    if (view == nullptr || view->shape.empty()) {
      return std::nullopt;
    }
    rows = view->shape[0];
  }
  return rows;
}

void deduce_head(Json& json, const std::string& directory, const WeightFiles& files) {
  json.erase("architectures");
  auto options = options_from_json(json, directory + "/config.json");
  for (const auto head : kHeadsByWealth) {
    if (!has_head(options.family, head)) {
      continue;
    }
    options.head = head;
    if (const auto rows = head_rows(files, options)) {
      json["architectures"] = Json::array({architecture_of(options)});
      if (!has(json, "id2label") && !has(json, "num_labels")) {
        json["num_labels"] = *rows;
      }
      return;
    }
  }
}

}  // namespace

Json with_head(Json json, const std::string& directory) {
  const bool is_trimmed =
      json.is_object() && has(json, "model_type") && !has(json, "architectures");
  if (is_trimmed && WeightFiles::are_in(directory)) {
    deduce_head(json, directory, WeightFiles(directory));
  }
  return json;
}

Json with_family_and_head(Json json, const std::string& directory) {
  if (json.is_object() && !has(json, "model_type")) {
    const auto* facts = family_of_class(json);
    if (facts == nullptr && WeightFiles::are_in(directory)) {
      facts = family_of_tensors(WeightFiles(directory));
    }
    if (facts != nullptr) {
      json["model_type"] = facts->model_type;
    }
  }
  return with_head(std::move(json), directory);
}

}  // namespace weft::models
