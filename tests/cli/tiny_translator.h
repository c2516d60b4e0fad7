#pragma once

#include "models/config/family.h"
#include "models/config/presets.h"
#include "models/directory.h"

namespace weft::test {

/// The smallest useful sizes of a family that reads a source.
inline models::ModelOptions tiny_translator_options(models::Family family, int64_t vocabulary) {
  auto options = models::family_defaults(family);
  options.head = models::Head::kConditional;
  options.vocabulary = vocabulary;
  options.dim = 16;
  options.layers = options.decoder.layers = 1;
  options.heads = options.decoder.heads = 2;
  options.width = options.decoder.width = 32;
  options.length = 64;
  options.init_std = 0.5;
  return options;
}

}  // namespace weft::test
