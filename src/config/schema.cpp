#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/string_util.h"
#include "config/reference.h"

namespace weft::config {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDuration =
    "^[+]?[0-9.eE+-]+ *[kMG]? *(step|epoch|token|second|minute|hour)s?$";

Json bounded(const char* type, const Range& range) {
  Json schema = {{"type", type}};
  const auto bound = [](double value) {
    return value == std::floor(value) && std::abs(value) < 9e15 ? Json(static_cast<int64_t>(value))
                                                                : Json(value);
  };
  if (std::isfinite(range.min)) {
    schema[range.is_min_exclusive ? "exclusiveMinimum" : "minimum"] = bound(range.min);
  }
  if (std::isfinite(range.max)) {
    schema[range.is_max_exclusive ? "exclusiveMaximum" : "maximum"] = bound(range.max);
  }
  return schema;
}

Json empty_map() {
  return {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
}

Json schema_of(const Declaration& key) {
  switch (key.type) {
    case KeyType::kBoolean:
      return {{"type", "boolean"}};
    case KeyType::kInteger:
      return bounded("integer", key.range);
    case KeyType::kNumber:
      return bounded("number", key.range);
    case KeyType::kText:
      // An unquoted 5 or true is also valid text.
      return {{"type", {"string", "number", "boolean"}}};
    case KeyType::kDuration:
      return {{"type", "string"}, {"pattern", kDuration}};
    case KeyType::kRelativeDuration:
      return {{"anyOf",
               {{{"type", "string"}, {"pattern", kDuration}},
                {{"type", "string"}, {"pattern", "^[0-9.]+ *%$"}},
                bounded("number", half_open(0, 1))}}};
    case KeyType::kIntegerList:
      return {{"type", "array"}, {"items", bounded("integer", key.range)}};
    case KeyType::kNumberList:
      return {{"type", "array"}, {"items", bounded("number", key.range)}};
    case KeyType::kTextList:
      return {{"type", "array"}, {"items", {{"type", {"string", "number", "boolean"}}}}};
    case KeyType::kChoice:
      return {{"enum", key.choices}};
    case KeyType::kNamedNumbers:
      return {{"anyOf",
               {{{"enum", key.choices}},
                {{"type", "object"}, {"additionalProperties", bounded("number", key.range)}}}}};
    case KeyType::kGrid:
      return {{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"minItems", 1}}}};
    case KeyType::kSection:
      return empty_map();
    case KeyType::kNamedSections:
      return {{"type", "object"}, {"additionalProperties", {{"type", "object"}}}};
    case KeyType::kSectionList:
      return {{"type", "array"}, {"items", empty_map()}};
  }
  return {};
}

/// Returns the default as JSON if its YAML is also valid JSON of the right type, else as text.
Json schema_default_of(const Declaration& key) {
  const Json parsed = Json::parse(key.default_value, nullptr, false);
  const bool is_text = key.type == KeyType::kText || key.type == KeyType::kChoice ||
                       key.type == KeyType::kDuration || key.type == KeyType::kRelativeDuration;
  if (parsed.is_discarded() || (is_text && !parsed.is_string() && !parsed.is_null())) {
    return key.default_value;
  }
  return parsed;
}

Json with_none(Json schema, const Declaration& key) {
  if (!key.is_nullable) {
    return schema;
  }
  Json words = {nullptr, "none"};
  if (key.type == KeyType::kDuration) {
    words.push_back("never");
  }
  return {{"anyOf", {std::move(schema), {{"enum", std::move(words)}}}}};
}

Json annotated(const Declaration& key) {
  Json schema = with_none(schema_of(key), key);
  std::string about = key.help;
  about += key.unit.empty() ? "" : str_cat(" In ", key.unit, ".");
  about += key.only_if.empty() ? "" : str_cat(" Only ", condition_of(key), ".");
  schema["description"] = about;
  if (!key.is_section() && !key.is_required) {
    schema["default"] = schema_default_of(key);
  }
  return schema;
}

/// Returns the map that contains the key of this path.
Json& parent_map(Json& root, const std::vector<std::string_view>& words) {
  Json* map = &root;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    map = words[i] == "*" ? &(*map)["items"] : &(*map)["properties"][std::string(words[i])];
  }
  return *map;
}

}  // namespace

std::string json_schema(const Declarations& declarations) {
  Json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", "Weft configuration"}};
  root.update(empty_map());
  for (const auto& key : declarations.keys) {
    const auto words = split(key.path, '.');
    Json& map = parent_map(root, words);
    const std::string name(words.back());
    map["properties"][name] = annotated(key);
    if (key.is_required && key.only_if.empty()) {
      map["required"].push_back(name);
    }
  }
  for (const auto& key : declarations.keys) {
    if (key.may_be_list) {
      const auto words = split(key.path, '.');
      Json& whole = parent_map(root, words)["properties"][std::string(words.back())];
      Json item = std::exchange(whole, {{"description", whole["description"]}});
      item.erase("description");
      whole["anyOf"] = {item, {{"type", "array"}, {"items", item}, {"minItems", 1}}};
    }
  }
  return root.dump(2) + "\n";
}

}  // namespace weft::config
