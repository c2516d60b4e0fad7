// Reads `grid:`: keys with several values each, for a grid search.
#include <algorithm>

#include "base/string_util.h"
#include "config/scalar.h"
#include "config/section.h"
#include "config/state.h"
#include "config/yaml.h"

namespace weft::config {

namespace {

/// Formats the node as one line of YAML that parses to the same value.
std::string on_one_line(const Node& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kScalar:
      return node.is_plain ? node.scalar : yaml_text(node.scalar);
    case Node::Kind::kList:
      for (const auto& item : node.items) {
        parts.push_back(on_one_line(item));
      }
      return yaml_list(parts);
    case Node::Kind::kMap:
      for (const auto& entry : node.entries) {
        parts.push_back(yaml_text(entry.key) + ": " + on_one_line(entry.value));
      }
      return "{" + join(parts) + "}";
  }
  return {};
}

std::string axes_written(const std::vector<GridAxis>& grid) {
  std::vector<std::string> parts;
  for (const auto& axis : grid) {
    parts.push_back(yaml_text(axis.key) + ": " + yaml_list(axis.values));
  }
  return "{" + join(parts) + "}";
}

}  // namespace

void Section::read_grid(std::string_view key, std::vector<GridAxis>& value, const KeySpec& spec) {
  if (state_->declarations) {
    Declaration declaration;
    declaration.path = state_->path_of(key);
    declaration.type = KeyType::kGrid;
    declaration.default_value = "{}";
    declaration.help = spec.help;
    state_->declarations->add(std::move(declaration));
    return;
  }
  const Node* node = state_->lookup(key);
  if (node == nullptr || is_none(*node)) {
    return;
  }
  if (node->kind != Node::Kind::kMap) {
    state_->fail_type(*node, key, "a map of config keys, each with a list of values");
  }
  for (const auto& entry : node->entries) {
    const auto name = str_cat(key, ".", entry.key);
    if (entry.value.kind != Node::Kind::kList) {
      state_->fail_type(entry.value, name, "a list of values, as in [1e-5, 5e-5]");
    }
    if (entry.value.items.empty()) {
      state_->fail_at(entry.value, name, "an empty list, must have at least one value");
    }
    GridAxis& axis = value.emplace_back(GridAxis{.key = entry.key});
    for (const auto& item : entry.value.items) {
      auto word = on_one_line(item);
      if (std::find(axis.values.begin(), axis.values.end(), word) != axis.values.end()) {
        state_->fail_at(item, name, str_cat(quote(word), " is duplicated here"));
      }
      axis.values.push_back(std::move(word));
    }
  }
  if (!value.empty()) {
    state_->record->at(key).value = axes_written(value);
  }
}

}  // namespace weft::config
