#include "models/families/vit.h"

#include "models/families/vision_family.h"

namespace weft::models {

namespace {

ModelOptions vit_defaults() { return vision_family::defaults(Family::kVit); }

/// For images of 32 x 32 pixels.
ModelOptions vit_mini() {
  auto options = sized(vit_defaults(), {6, 192, 3});
  options.vision.image_size = 32;
  options.vision.patch_size = 4;
  return options;
}

std::vector<Preset> vit_presets() {
  const auto begin = vit_defaults();
  return {{"vit-mini", vit_mini()},
          {"vit-tiny", sized(begin, {12, 192, 3})},
          {"vit-small", sized(begin, {12, 384, 6})},
          {"vit-base", sized(begin, {12, 768, 12})},
          {"vit-large", sized(begin, {24, 1024, 16})}};
}

FamilyDefinition vit_definition() {
  auto made = vision_family::definition({Family::kVit, NormPlacement::kPre, "vit", "vit", "ViT"});
  made.defaults = vit_defaults;
  made.presets = vit_presets;
  return made;
}

}  // namespace

const FamilyDefinition& vit() {
  static const auto kDefinition = vit_definition();
  return kDefinition;
}

}  // namespace weft::models
