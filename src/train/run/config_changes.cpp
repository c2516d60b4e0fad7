#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "config/yaml.h"
#include "train/run/train.h"

namespace weft::train {

namespace {

void flatten(const config::Node& node,
             const std::string& key,
             std::map<std::string, std::string>& values) {
  switch (node.kind) {
    case config::Node::Kind::kNull:
      values[key] = "null";
      return;
    case config::Node::Kind::kScalar:
      values[key] = node.scalar;
      return;
    case config::Node::Kind::kList:
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        flatten(node.items[i], key + "[" + std::to_string(i) + "]", values);
      }
      return;
    case config::Node::Kind::kMap:
      for (const auto& entry : node.entries) {
        flatten(entry.value, key.empty() ? entry.key : key + "." + entry.key, values);
      }
      return;
  }
}

}  // namespace

std::map<std::string, std::string> config_values(const std::string& resolved) {
  std::map<std::string, std::string> values;
  flatten(config::parse_yaml(resolved, "weft.yaml"), "", values);
  return values;
}

std::vector<ConfigChange> config_changes(const std::string& before, const std::string& after) {
  const auto old_values = config_values(before);
  const auto new_values = config_values(after);
  auto keys = old_values;
  keys.insert(new_values.begin(), new_values.end());
  std::vector<ConfigChange> changes;
  const auto value = [](const auto& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string("none") : found->second;
  };
  for (const auto& item : keys) {
    const auto old_value = value(old_values, item.first);
    const auto new_value = value(new_values, item.first);
    if (old_value != new_value) {
      changes.push_back({.key = item.first, .before = old_value, .after = new_value});
    }
  }
  return changes;
}

bool may_change(const std::string& key) {
  constexpr std::array<std::string_view, 3> kFree = {"data.num_workers", "data.cache_dir",
                                                     "data.evaluate"};
  constexpr std::array<std::string_view, 10> kFixed = {
      "init_from", "pretrained_embeddings", "model",        "tokenizer", "data", "objective",
      "run.seed",  "train.optimizer.type",  "train.freeze", "train.lora"};
  const auto is_at_or_below = [&](std::string_view prefix) {
    return key.starts_with(prefix) &&
           (key.size() == prefix.size() || key[prefix.size()] == '.' || key[prefix.size()] == '[');
  };
  // Of a group of parameters, which they are and the type; settings may change, as
  // train.optimizer.lr.
  if (key.starts_with("train.optimizer.groups")) {
    return !key.ends_with(".parameters") && !key.ends_with(".type");
  }
  return std::any_of(kFree.begin(), kFree.end(), is_at_or_below) ||
         std::none_of(kFixed.begin(), kFixed.end(), is_at_or_below);
}

}  // namespace weft::train
