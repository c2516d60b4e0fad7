#include "models/families/deit.h"

#include "models/families/vision_family.h"

namespace weft::models {

namespace {

ModelOptions deit_defaults() { return vision_family::defaults(Family::kDeit); }

std::vector<Preset> deit_presets() {
  const auto begin = deit_defaults();
  return {{"deit-tiny", sized(begin, {12, 192, 3})},
          {"deit-small", sized(begin, {12, 384, 6})},
          {"deit-base", sized(begin, {12, 768, 12})}};
}

FamilyDefinition deit_definition() {
  auto made =
      vision_family::definition({Family::kDeit, NormPlacement::kPre, "deit", "deit", "DeiT"});
  made.heads.insert(made.heads.begin() + 2,
                    {Head::kDistilledImage, "ForImageClassificationWithTeacher"});
  made.defaults = deit_defaults;
  made.presets = deit_presets;
  return made;
}

}  // namespace

const FamilyDefinition& deit() {
  static const auto kDefinition = deit_definition();
  return kDefinition;
}

}  // namespace weft::models
