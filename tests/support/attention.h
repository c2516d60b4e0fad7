#pragma once

#include <memory>
#include <string>

#include "nn/attention/attention.h"
#include "support/components.h"
#include "support/tensors.h"

namespace weft::test {

/// The attention type of a section `model.attention`, given without its braces.
inline nn::AttentionChoice attention_choice(const std::string& keys) {
  return component(nn::attention_types(), "attention", keys);
}

/// A layer of this type whose parameters look random and are always the same.
inline std::shared_ptr<nn::Attention> attention_layer(const std::string& keys,
                                                      const nn::AttentionOptions& options) {
  auto layer = attention_choice(keys).make(options);
  fill_parameters(*layer);
  return layer;
}

}  // namespace weft::test
