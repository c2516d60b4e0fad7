#pragma once

#include <cstdint>

#include "data/batch.h"
#include "models/config/options.h"

/// Made-up examples with the shapes of real ones, for Objective::sample_example.
namespace weft::objectives {

/// A pair of texts of `length` tokens together, or an image of the model's size; without targets.
data::Example sample_input(const models::ModelOptions& model, int64_t length);

/// Adds targets below `classes` at this fraction of the positions from `first` on, evenly spread.
void add_sample_targets(data::Example& example,
                        double fraction,
                        int64_t classes,
                        int64_t first = 0);

}  // namespace weft::objectives
