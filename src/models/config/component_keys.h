#pragma once

#include <optional>
#include <string>

#include "base/registry.h"
#include "config/section.h"
#include "formats/json.h"
#include "nn/component.h"

/// Keys of `model:` that choose the type of a part that a family has once.
namespace weft::models {

/// Reads the keys of the type with this name. A choice of a preset or of init_from stays as it is,
/// unless the section names another type or has one of its keys.
template <class Definition>
void read_component_choice(config::Section& section,
                           const Registry<Definition>& registry,
                           const std::string& name,
                           std::optional<typename Definition::Choice>& choice) {
  const auto has_own_key = [&] {
    const auto keys = formats::parse_json(choice->keys, choice->type);
    for (const auto& [own, value] : keys.items()) {
      if (section.has(own)) {
        return true;
      }
    }
    return false;
  };
  if (!choice || choice->type != name || *choice == nn::default_component(registry, name) ||
      has_own_key()) {
    choice = nn::read_component(section, registry.at(name));
  }
}

}  // namespace weft::models
