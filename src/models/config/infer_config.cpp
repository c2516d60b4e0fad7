#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/weights/weight_map.h"
#include "models/weights/weights.h"

namespace weft::models {

using formats::Json;

namespace {

bool has(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  return found != json.end() && !found->is_null() && !(found->is_array() && found->empty());
}

/// model_type of the family with the longest class name prefix that matches; empty: none.
std::string_view type_of_class(const Json& json) {
  const auto found = json.find("architectures");
  if (found == json.end() || !found->is_array() || found->empty() || !found->at(0).is_string()) {
    return "";
  }
  const auto name = found->at(0).get<std::string>();
  HfNames best{};
  for (const auto& [family, hf_names] : all_hf_names()) {
    if (name.starts_with(hf_names.class_prefix) &&
        hf_names.class_prefix.size() > best.class_prefix.size()) {
      best = hf_names;
    }
  }
  return best.model_type;
}

/// model_type of the first family whose prefix occurs in the tensor names; empty: none.
std::string_view type_of_tensors(const SafetensorsShards& files) {
  for (const auto& [family, hf_names] : all_hf_names()) {
    const auto prefix = std::string(hf_names.prefix) + ".";
    for (const auto& name : files.names()) {
      if (name.starts_with(prefix) && prefix.size() > 1) {
        return hf_names.model_type;
      }
    }
  }
  return "";
}

const formats::TensorView* find(const SafetensorsShards& files,
                                const StoredTensor& tensor,
                                const ModelOptions& options) {
  for (const auto& name : name_aliases(tensor, options)) {
    if (const auto* view = files.find(name)) {
      return view;
    }
  }
  return nullptr;
}

/// Tensors of head and pooler that the files contain; none unless they contain all.
struct FoundHead {
  std::size_t tensors = 0;
  int64_t rows = 0;  // of the last one
};

FoundHead find_head(const SafetensorsShards& files, const ModelOptions& options) {
  FoundHead found;
  for (const auto& tensor : weight_map(options)) {
    if (tensor.part == Part::kBackbone) {
      continue;
    }
    const auto* view = find(files, tensor, options);
    if (view == nullptr || view->shape.empty()) {
      return {};
    }
    found = {.tensors = found.tensors + 1, .rows = view->shape[0]};
  }
  return found;
}

/// The first head without tensors of its own for which the files have all of the backbone.
std::optional<Head> find_bare_head(const SafetensorsShards& files, ModelOptions options) {
  for (const auto& named : heads_of(options.family)) {
    options.head = named.head;
    const auto has = [&](const StoredTensor& tensor) {
      return find(files, tensor, options) != nullptr;
    };
    if (head_of(options).is_bare && std::ranges::all_of(weight_map(options), has)) {
      return named.head;
    }
  }
  return std::nullopt;
}

/// The head with the most tensors: its tensors may include all of another head.
void infer_head(Json& json, const std::string& directory, const SafetensorsShards& files) {
  json.erase("architectures");
  auto options = options_from_json(json, directory + "/config.json");
  FoundHead best;
  for (const auto& [head, suffix] : heads_of(options.family)) {
    options.head = head;
    const auto found = head_of(options).is_bare ? FoundHead() : find_head(files, options);
    if (found.tensors > best.tensors) {
      best = found;
      json["architectures"] = Json::array({architecture_of(options)});
    }
  }
  if (best.tensors == 0) {
    if (const auto bare = find_bare_head(files, options)) {
      options.head = *bare;
      json["architectures"] = Json::array({architecture_of(options)});
    }
  }
  if (best.tensors > 0 && !has(json, "id2label") && !has(json, "num_labels")) {
    json["num_labels"] = best.rows;
  }
}

}  // namespace

Json with_inferred_head(Json json, const std::string& directory) {
  const bool is_trimmed =
      json.is_object() && has(json, "model_type") && !has(json, "architectures");
  if (is_trimmed && SafetensorsShards::exist_in(directory)) {
    infer_head(json, directory, SafetensorsShards(directory));
  }
  return json;
}

Json with_inferred_family_and_head(Json json, const std::string& directory) {
  if (json.is_object() && !has(json, "model_type")) {
    auto type = type_of_class(json);
    if (type.empty() && SafetensorsShards::exist_in(directory)) {
      type = type_of_tensors(SafetensorsShards(directory));
    }
    if (!type.empty()) {
      json["model_type"] = type;
    }
  }
  return with_inferred_head(std::move(json), directory);
}

}  // namespace weft::models
