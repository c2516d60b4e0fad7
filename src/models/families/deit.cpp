#include "models/families/deit.h"

#include "models/families/vision_family.h"

namespace weft::models {

namespace {

ModelOptions defaults() { return vision_family::defaults(Family::kDeit); }

ModelOptions sized(int64_t dim, int64_t heads) {
  return vision_family::sized(Family::kDeit, 12, dim, heads);
}

std::vector<Preset> presets() {
  return {
      {"deit-tiny", sized(192, 3)}, {"deit-small", sized(384, 6)}, {"deit-base", sized(768, 12)}};
}

}  // namespace

const FamilyDefinition& deit() {
  static const FamilyDefinition kDefinition{
      .word = "deit",
      .facts = {Family::kDeit, NormPlace::kPre, "deit", "deit", "DeiT"},
      .heads = {{Head::kNone, "Model"},
                {Head::kImage, "ForImageClassification"},
                {Head::kTaughtImage, "ForImageClassificationWithTeacher"},
                {Head::kMaskedImage, "ForMaskedImageModeling"}},
      .traits = {.family = Family::kDeit, .has_segments = false},
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
