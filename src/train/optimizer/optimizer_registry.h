#pragma once

#include "train/optimizer/optimizer_definition.h"
#include "train/optimizer/variant_registry.h"

namespace weft::train {

/// All optimizers.
const VariantRegistry<OptimizerDefinition>& optimizer_registry();

/// Adds an optimizer of the program's own, before the first config is read. Throws
/// std::invalid_argument if the name is taken.
void register_optimizer(OptimizerDefinition definition);

}  // namespace weft::train
