#pragma once

#include <cstdint>
#include <vector>

#include "models/config/options.h"
#include "train/cost/bench.h"
#include "train/cost/step_memory.h"

namespace weft::train {

/// Costs of models that are no stack of layers (models::is_baseline); train/cost.h has the others.

/// Of one token, forward, at `length` tokens a sequence.
double baseline_flops(const models::ModelOptions& model, int64_t length);
/// Of a step; roughly, as its shapes hang on the texts.
StepMemory baseline_memory(const models::ModelOptions& model, const StepShape& shape);
/// The products of its linear layers in one forward pass.
std::vector<Product> baseline_products(const models::ModelOptions& model, const StepRows& rows);

}  // namespace weft::train
