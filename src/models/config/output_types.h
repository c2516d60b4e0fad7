#pragma once

#include "nn/output/output_layer.h"

namespace weft::models {

/// nn::output_types() with those that consist of models.
const Registry<nn::OutputDefinition>& output_types();

}  // namespace weft::models
