#pragma once

#include "models/config/family_definition.h"

/// Shared parts of ViT and DeiT: sizes, keys, names.
namespace weft::models::vision_family {

ModelOptions defaults(Family family);

/// Defaults and presets are set by the family.
FamilyDefinition definition(const HfNames& hf_names);

}  // namespace weft::models::vision_family
