#pragma once

#include "models/config/family_definition.h"

/// What ViT and DeiT share: sizes, keys, names.
namespace weft::models::vision_family {

ModelOptions defaults(Family family);

/// Defaults and presets are the family's own.
FamilyDefinition definition(const FamilyFacts& facts);

}  // namespace weft::models::vision_family
