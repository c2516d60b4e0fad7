#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/registry.h"
#include "config/section.h"
#include "nn/component.h"

/// Keys of `model:` that choose the type of a part that a family has once.
namespace weft::models {

/// Reads the keys of the type with this name. A choice of a preset or of init_from whose keys are
/// not the defaults stays as it is, unless the section names the type.
template <class Definition>
void read_component_choice(config::Section& section,
                           std::string_view key,
                           const Registry<Definition>& registry,
                           const std::string& name,
                           std::optional<typename Definition::Choice>& choice) {
  if (section.has(key) || !choice || *choice == nn::default_component(registry, name)) {
    choice = nn::read_component(section, registry.at(name));
  }
}

}  // namespace weft::models
