#include "models/config/presets.h"

#include <utility>

#include "models/config/family_definition.h"

namespace weft::models {

ModelOptions sized(ModelOptions options, const StackSize& size) {
  options.layers = size.layers;
  options.dim = size.dim;
  options.heads = size.heads;
  options.width = 4 * size.dim;
  return options;
}

std::vector<Preset> presets() {
  std::vector<Preset> all;
  for (const auto& [name, family] : families()) {
    for (auto& preset : family->presets ? family->presets() : std::vector<Preset>()) {
      preset.options.family = family;
      all.push_back(std::move(preset));
    }
  }
  return all;
}

}  // namespace weft::models
