#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "models/model.h"

namespace weft::models {

/// Initialises the named parameters (all, where `names` is empty) as published: matrices and
/// embeddings from normal(0, init_std), the pad row zero, biases zero, norm scales one. Each is a
/// pure function of (seed, name).
void initialize(Model& model, uint64_t seed, const std::set<std::string>& names = {});

}  // namespace weft::models
