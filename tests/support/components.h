#pragma once

#include <string>

#include "base/registry.h"
#include "config/section.h"
#include "nn/component.h"

namespace weft::test {

/// The component of a section `model.NAME`, given without its braces.
template <class Definition>
typename Definition::Choice component(const Registry<Definition>& registry,
                                      const std::string& name,
                                      const std::string& keys) {
  const auto document = config::Document::parse("{" + name + ": {" + keys + "}}", "test.yaml");
  auto section = document.root().section(name, {.help = "The tested type."});
  std::string type;
  section.read_name("type", type, registry.names(), {.help = "The type."});
  auto choice = nn::read_component(section, registry.at(type));
  section.reject_unread();
  return choice;
}

}  // namespace weft::test
