#include "models/config/config_json.h"

#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/json_fields.h"
#include "models/config/stack_keys.h"

namespace weft::models {

using formats::Json;

namespace {

/// `model_type` of models that no family of transformers has; the family that they are based on,
/// and their layer types.
constexpr auto kOwnModelType = "weft";
constexpr auto kBaseModelType = "base_model_type";
constexpr auto kLayerTypes = "weft_layer_types";  // `layer_types` is a key of transformers
/// Among them, with embeddings of their own: families may read the key of this name from the
/// weights, or not have it.
constexpr auto kTies = "tie_word_embeddings";

/// Reads family and norm placement.
void read_type(const JsonFields& fields, ModelOptions& options) {
  std::string type;
  fields.read("model_type", type);
  if (type == kOwnModelType) {
    fields.read(kBaseModelType, type);
  }
  std::vector<std::string> known;
  for (const auto& [family, hf_names] : all_hf_names()) {
    if (hf_names.model_type == type) {
      options.family = family;
      options.norm_placement = hf_names.norm_placement;
      return;
    }
    if (std::ranges::find(known, hf_names.model_type) == known.end()) {
      known.emplace_back(hf_names.model_type);
    }
  }
  const auto found = fields.has("model_type") ? quoted_text(type) : std::string("nothing");
  fields.fail("model_type", "found " + found + ", allowed is " + join(known));
}

void read_head(const JsonFields& fields, ModelOptions& options) {
  if (!fields.has("architectures")) {
    return;
  }
  const auto& list = fields.at("architectures");
  if (!list.is_array() || list.size() != 1 || !list[0].is_string()) {
    fields.fail("architectures", "must be a list with one name");
  }
  const auto name = list[0].get<std::string>();
  std::vector<std::string> allowed;
  for (const auto& head : heads_of(options.family)) {
    allowed.push_back(str_cat(hf_names_of(options).class_prefix, head.class_suffix));
    if (allowed.back() == name) {
      options.head = head.head;
      return;
    }
  }
  fields.fail("architectures", "found " + quoted_text(name) + ", allowed is " + join(allowed));
}

std::string_view torch_name(formats::DType dtype) {
  return dtype == formats::DType::kBF16  ? "bfloat16"
         : dtype == formats::DType::kF16 ? "float16"
                                         : "float32";
}

}  // namespace

void read_prompt(const JsonFields& fields, ModelOptions& options) {
  if (head_of(options).takes_prefixes()) {
    fields.read("is_prefix_lm", options.is_prefix_lm);
    fields.read("prefix_end_token_id", options.prefix_end_id, 0, options.vocabulary - 1);
  }
}

void write_prompt(Json& json, const ModelOptions& options) {
  if (options.is_prefix_lm) {
    json["is_prefix_lm"] = true;
    json["prefix_end_token_id"] = id_or_null(options.prefix_end_id);
  }
}

ModelOptions options_from_json(const Json& json, const std::string& place) {
  const JsonFields fields(json, place);
  ModelOptions options;
  read_type(fields, options);
  read_head(fields, options);
  options.family->read_json(fields, options);
  if (fields.has(kLayerTypes)) {
    options.layer_types = read_layer_types(fields.at(kLayerTypes), place + ": " + kLayerTypes);
    if (options.layer_types.embedding) {
      const JsonFields own(fields.at(kLayerTypes), place + ": " + kLayerTypes);
      own.read(kTies, options.tie_word_embeddings);
    }
    read_document(fields.at(kLayerTypes), place + ": " + kLayerTypes, options);
  }
  if (const auto error = tie_error(options.layer_types, options.tie_word_embeddings);
      !error.empty()) {
    fields.fail(kTies, error);
  }
  read_stochastic_depth(fields, options);
  read_early_exit(fields, options);
  read_prompt(fields, options);
  read_labels(fields, options);
  return options;
}

Json json_from_options(const ModelOptions& options, formats::DType dtype) {
  Json json;
  json["architectures"] = Json::array({architecture_of(options)});
  json["model_type"] = hf_names_of(options).model_type;
  if (has_own_parts(options)) {
    json[kBaseModelType] = std::exchange(json["model_type"], kOwnModelType);
    write_layer_types(json[kLayerTypes], options.layer_types);
    if (options.layer_types.embedding) {
      json[kLayerTypes][kTies] = options.tie_word_embeddings;
    }
    write_document(json[kLayerTypes], options);
  }
  json["dtype"] = torch_name(dtype);
  options.family->write_json(json, options);
  write_stochastic_depth(json, options);
  write_early_exit(json, options);
  write_prompt(json, options);
  write_labels(json, options);
  return json;
}

}  // namespace weft::models
