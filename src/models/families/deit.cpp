#include "models/families/deit.h"

#include "models/families/vision_family.h"

namespace weft::models {

namespace {

ModelOptions defaults() { return vision_family::defaults(Family::kDeit); }

std::vector<Preset> presets() {
  const auto begin = defaults();
  return {{"deit-tiny", sized(begin, {12, 192, 3})},
          {"deit-small", sized(begin, {12, 384, 6})},
          {"deit-base", sized(begin, {12, 768, 12})}};
}

FamilyDefinition definition() {
  auto made = vision_family::definition({Family::kDeit, NormPlace::kPre, "deit", "deit", "DeiT"});
  made.heads.insert(made.heads.begin() + 2,
                    {Head::kTaughtImage, "ForImageClassificationWithTeacher"});
  made.defaults = defaults;
  made.presets = presets;
  return made;
}

}  // namespace

const FamilyDefinition& deit() {
  static const auto kDefinition = definition();
  return kDefinition;
}

}  // namespace weft::models
