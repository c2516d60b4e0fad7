#pragma once

#include <string_view>
#include <vector>

#include "models/config/options.h"

namespace weft::models {

struct Preset {
  std::string_view name;
  ModelOptions options;
};

/// As most stacks are described; their feed-forward is four times as wide.
struct StackSize {
  int64_t layers;
  int64_t dim;
  int64_t heads;
};
ModelOptions sized(ModelOptions options, const StackSize& size);

/// Models of the published names and sizes.
const std::vector<Preset>& presets();

/// What a family's models have in common when no preset is named.
ModelOptions family_defaults(Family family);

}  // namespace weft::models
