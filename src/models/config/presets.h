#pragma once

#include <string_view>
#include <vector>

#include "models/config/family.h"
#include "models/config/options.h"

namespace weft::models {

struct Preset {
  std::string_view name;
  ModelOptions options;
};

/// Size of a typical stack, whose feed-forward is four times as wide as the model.
struct StackSize {
  int64_t layers;
  int64_t dim;
  int64_t heads;
};
ModelOptions sized(ModelOptions options, const StackSize& size);

/// Published models, by name and size.
std::vector<Preset> presets();

}  // namespace weft::models
