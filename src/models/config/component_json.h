#pragma once

#include <string>

#include "base/registry.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "nn/component.h"

/// Component types in config.json: `{"type": "adaptive", "cutoffs": [...]}`.
namespace weft::models {

template <class Choice>
formats::Json json_of_component(const Choice& choice) {
  formats::Json json = {{"type", choice.type}};
  json.update(formats::Json::parse(choice.keys));
  return json;
}

/// Throws UserError, naming `place`, for a type that this program does not have.
template <class Definition>
typename Definition::Choice component_from_json(formats::Json json,
                                                const std::string& place,
                                                const Registry<Definition>& registry) {
  std::string type;
  const JsonFields fields(json, place);
  fields.read("type", type);
  const auto* definition = registry.find(type);
  if (definition == nullptr) {
    fields.fail("type", str_cat("found '", type, "', this program has ", join(registry.names())));
  }
  json.erase("type");
  auto section = config::Document::parse(json.dump(), place).root();
  auto choice = nn::read_component(section, *definition);
  section.reject_unread();
  return choice;
}

}  // namespace weft::models
