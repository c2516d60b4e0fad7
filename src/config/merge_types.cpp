#include <algorithm>
#include <iterator>
#include <utility>

#include "base/string_util.h"
#include "config/reference.h"

namespace weft::config {

namespace {

using TypesByText = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_type(TypesByText& groups, const std::string& text, std::string_view type) {
  const auto known = std::ranges::find(groups, text, &TypesByText::value_type::first);
  if (known == groups.end()) {
    groups.push_back({text, {std::string(type)}});
  } else {
    known->second.emplace_back(type);
  }
}

/// A key, and the types that have it.
struct MergedKey {
  Declaration declaration;
  TypesByText types_by_condition = {};  // that the types state themselves
  TypesByText types_by_default = {};

  void add(std::string_view type, const Declaration& other) {
    add_type(types_by_condition, other.only_if, type);
    add_type(types_by_default, other.default_value, type);
    for (const auto& choice : other.choices) {
      if (std::ranges::find(declaration.choices, choice) == declaration.choices.end()) {
        declaration.choices.push_back(choice);
      }
    }
  }

  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const auto& [condition, types] : types_by_condition) {
      all.insert(all.end(), types.begin(), types.end());
    }
    return all;
  }

  /// `possible`: the types that have the section of this key.
  std::string condition(const std::vector<std::string>& possible) const {
    std::vector<std::string> conditions;
    for (const auto& [condition, types] : types_by_condition) {
      if (2 * types.size() <= possible.size()) {
        conditions.push_back(str_cat("type: ", join_alternatives(types),
                                     condition.empty() ? "" : str_cat(" with ", condition)));
      } else if (!condition.empty()) {
        conditions.push_back(condition);
      } else if (types.size() < possible.size()) {
        std::vector<std::string> others;
        std::ranges::copy_if(possible, std::back_inserter(others), [&](const auto& type) {
          return std::ranges::find(types, type) == types.end();
        });
        conditions.push_back(str_cat("a type other than ", join_alternatives(others)));
      }
    }
    return join(conditions, ", or ");
  }

  void set_defaults() {
    const auto usual = std::ranges::max_element(
        types_by_default, {}, [](const auto& group) { return group.second.size(); });
    declaration.default_value = usual->first;
    std::vector<std::string> others;
    for (auto group = types_by_default.begin(); group != types_by_default.end(); ++group) {
      if (group != usual) {
        others.push_back(str_cat(join(group->second), ": ", group->first));
      }
    }
    declaration.other_defaults = join(others, "; ");
  }
};

}  // namespace

Declarations merge_types(const std::vector<TypeDeclarations>& types) {
  std::vector<MergedKey> keys;
  const auto find = [&](std::string_view path) {
    return std::ranges::find(
        keys, path, [](const auto& known) -> std::string_view { return known.declaration.path; });
  };
  std::vector<std::string> names;
  for (const auto& [type, declarations] : types) {
    names.emplace_back(type);
    for (const auto& declaration : declarations.keys) {
      auto key = find(declaration.path);
      if (key == keys.end()) {
        key = keys.insert(keys.end(), {.declaration = declaration});
      }
      key->add(type, declaration);
    }
  }
  Declarations merged;
  for (auto& key : keys) {
    const std::string_view path = key.declaration.path;
    const auto dot = path.rfind('.');
    const auto section = dot == path.npos ? keys.end() : find(path.substr(0, dot));
    key.set_defaults();
    auto declaration = key.declaration;
    declaration.only_if = key.condition(section == keys.end() ? names : section->types());
    merged.keys.push_back(std::move(declaration));
  }
  return merged;
}

}  // namespace weft::config
