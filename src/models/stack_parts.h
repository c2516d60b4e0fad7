#pragma once

#include <cstdint>

#include "models/config/options.h"
#include "nn/norm/norm.h"
#include "nn/position/position.h"

/// Exchangeable parts of a whole model: those that its config names, otherwise those of its family.
namespace weft::models {

/// A norm of `dim` features.
nn::NormOptions norm_of(const ModelOptions& options, int64_t dim);

/// The positions of one stack, for the stack and its embeddings. `side`: heads, is_causal; the rest
/// follows from the options.
nn::Positions make_positions(const ModelOptions& options, nn::PositionOptions side);

}  // namespace weft::models
