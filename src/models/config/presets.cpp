#include "models/config/presets.h"

#include <iterator>

#include "models/config/family_definition.h"

namespace weft::models {

ModelOptions sized(ModelOptions options, const StackSize& size) {
  options.layers = size.layers;
  options.dim = size.dim;
  options.heads = size.heads;
  options.width = 4 * size.dim;
  return options;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = [] {
    std::vector<Preset> all;
    for (const auto* definition : family_table()) {
      if (definition->presets != nullptr) {
        std::ranges::move(definition->presets(), std::back_inserter(all));
      }
    }
    return all;
  }();
  return kPresets;
}

}  // namespace weft::models
