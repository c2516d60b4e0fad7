#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "base/string_util.h"
#include "config/section.h"

namespace weft::nn {

template <class Part, class Options>
struct ComponentChoice;

/// A type of layer part that a config can name, such as `model.attention.type: window`. Options:
/// the sizes and settings that the model gives to every type; a type reads its own keys itself.
template <class Part, class Options>
struct ComponentDefinition {
  using Maker = std::function<std::shared_ptr<Part>(const Options&)>;
  using Choice = ComponentChoice<Part, Options>;

  std::string_view name;
  /// Reads the keys of this type and returns the function that makes the part of a layer. Must also
  /// work for a section in documentation mode. Throws config::Error.
  Maker (*read)(config::Section& section) = nullptr;
  bool carries_state = false;       // from step to step (ForwardContext::carried_state)
  bool reads_layer_before = false;  // what it left in this pass (ForwardContext::score_chain)
  bool draws_at_random = false;     // learns from the loss of each sequence (AuxiliaryLosses)
};

/// A type as configured.
template <class Part, class Options>
struct ComponentChoice {
  std::string type;
  std::string keys;  // its own keys with their final values, as a JSON object
  typename ComponentDefinition<Part, Options>::Maker make;

  bool operator==(const ComponentChoice& other) const {
    return type == other.type && keys == other.keys;
  }
};

/// Reads the keys of one type, with its `read`.
template <class Definition>
typename Definition::Choice read_component(config::Section& section, const Definition& definition) {
  const auto first = section.recorded();
  auto make = definition.read(section);
  return {.type = std::string(definition.name),
          .keys = section.json_since(first),
          .make = std::move(make)};
}

/// Declares the keys of all types, each with the condition `KEY: TYPE`; for documentation mode.
template <class Definition>
void document_components(config::Section& section,
                         std::string_view key,
                         const Registry<Definition>& registry) {
  for (const auto& definition : registry.all()) {
    auto only = section.only_with(str_cat(key, ": ", definition.name));
    definition.read(only);
  }
}

/// Name of the module of a repeated part: `position`, `position_2`, ...
inline std::string numbered(std::string_view name, std::size_t index) {
  return str_cat(name, index > 0 ? str_cat("_", index + 1) : "");
}

/// A type with the defaults of its keys. Throws std::invalid_argument for an unknown name.
template <class Definition>
typename Definition::Choice default_component(const Registry<Definition>& registry,
                                              std::string_view name) {
  auto section = config::Document::parse("{}", std::string(name)).root();
  return read_component(section, registry.at(name));
}

}  // namespace weft::nn
