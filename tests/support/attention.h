#pragma once

#include <memory>
#include <string>

#include "config/section.h"
#include "nn/attention/attention.h"
#include "support/tensors.h"

namespace weft::test {

/// The attention type of a section `model.attention`, given without its braces.
inline nn::AttentionChoice attention_choice(const std::string& keys) {
  const auto document = config::Document::parse("{attention: {" + keys + "}}", "test.yaml");
  auto section = document.root().section("attention", {.help = "The tested type."});
  std::string type;
  section.read_name("type", type, nn::attention_types().names(), {.help = "The type."});
  auto choice = nn::read_component(section, nn::attention_types().at(type));
  section.reject_unread();
  return choice;
}

/// A layer of this type whose parameters look random and are always the same.
inline std::shared_ptr<nn::Attention> attention_layer(const std::string& keys,
                                                      const nn::AttentionOptions& options) {
  auto layer = attention_choice(keys).make(options);
  fill_parameters(*layer);
  return layer;
}

}  // namespace weft::test
