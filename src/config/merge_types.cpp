#include <algorithm>
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

  std::string condition(const std::vector<TypeDeclarations>& all) const {
    std::vector<std::string> conditions;
    for (const auto& [condition, types] : types_by_condition) {
      const bool has_few = 2 * types.size() <= all.size();
      const auto further = condition.empty() ? "" : str_cat(" with ", condition);
      if (has_few) {
        conditions.push_back(str_cat("type: ", join_alternatives(types), further));
      } else if (types.size() < all.size()) {
        std::vector<std::string> others;
        for (const auto& each : all) {
          if (std::ranges::find(types, each.type) == types.end()) {
            others.emplace_back(each.type);
          }
        }
        conditions.push_back(str_cat("a type other than ", join_alternatives(others), further));
      } else if (!condition.empty()) {
        conditions.push_back(condition);
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
  for (const auto& [type, declarations] : types) {
    for (const auto& declaration : declarations.keys) {
      auto key = std::ranges::find(keys, declaration.path,
                                   [](const auto& known) { return known.declaration.path; });
      if (key == keys.end()) {
        key = keys.insert(keys.end(), {.declaration = declaration});
      }
      key->add(type, declaration);
    }
  }
  Declarations merged;
  for (auto& key : keys) {
    key.set_defaults();
    key.declaration.only_if = key.condition(types);
    merged.keys.push_back(std::move(key.declaration));
  }
  return merged;
}

}  // namespace weft::config
