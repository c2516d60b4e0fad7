#include "models/families/vit.h"

#include "models/families/vision_family.h"

namespace weft::models {

namespace {

ModelOptions defaults() { return vision_family::defaults(Family::kVit); }

/// For images of 32 x 32 pixels.
ModelOptions mini() {
  auto options = sized(defaults(), {6, 192, 3});
  options.vision.image_size = 32;
  options.vision.patch = 4;
  return options;
}

std::vector<Preset> presets() {
  const auto begin = defaults();
  return {{"vit-mini", mini()},
          {"vit-tiny", sized(begin, {12, 192, 3})},
          {"vit-small", sized(begin, {12, 384, 6})},
          {"vit-base", sized(begin, {12, 768, 12})},
          {"vit-large", sized(begin, {24, 1024, 16})}};
}

FamilyDefinition definition() {
  auto made = vision_family::definition({Family::kVit, NormPlace::kPre, "vit", "vit", "ViT"});
  made.defaults = defaults;
  made.presets = presets;
  return made;
}

}  // namespace

const FamilyDefinition& vit() {
  static const auto kDefinition = definition();
  return kDefinition;
}

}  // namespace weft::models
