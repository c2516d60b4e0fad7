#pragma once

#include <cstdint>

#include "models/config/options.h"
#include "nn/norm.h"

/// Exchangeable parts of a whole model: those that its config names, otherwise those of its family.
namespace weft::models {

/// A norm of `dim` features.
nn::NormOptions norm_of(const ModelOptions& options, int64_t dim);

}  // namespace weft::models
