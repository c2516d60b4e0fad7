#include "models/families/vit.h"

#include "models/families/vision_family.h"

namespace weft::models {

namespace {

ModelOptions defaults() { return vision_family::defaults(Family::kVit); }

ModelOptions sized(int64_t layers, int64_t dim, int64_t heads) {
  return vision_family::sized(Family::kVit, layers, dim, heads);
}

/// For images of 32 x 32 pixels.
ModelOptions mini() {
  auto options = sized(6, 192, 3);
  options.vision.image_size = 32;
  options.vision.patch = 4;
  return options;
}

std::vector<Preset> presets() {
  return {{"vit-mini", mini()},
          {"vit-tiny", sized(12, 192, 3)},
          {"vit-small", sized(12, 384, 6)},
          {"vit-base", sized(12, 768, 12)},
          {"vit-large", sized(24, 1024, 16)}};
}

}  // namespace

const FamilyDefinition& vit() {
  static const FamilyDefinition kDefinition{
      .word = "vit",
      .facts = {Family::kVit, NormPlace::kPre, "vit", "vit", "ViT"},
      .heads = {{Head::kNone, "Model"},
                {Head::kImage, "ForImageClassification"},
                {Head::kMaskedImage, "ForMaskedImageModeling"}},
      .traits = {.family = Family::kVit, .has_segments = false},
      .defaults = defaults,
      .presets = presets,
      .read_keys = vision_family::read_keys,
      .read_json = vision_family::read_json,
      .write_json = vision_family::write_json,
      .tensors = vision_family::tensors,
      .is_harmless = vision_family::is_harmless,
      .initial = vision_family::initial,
      .make = vision_family::make,
      .reads_images = true};
  return kDefinition;
}

}  // namespace weft::models
