#pragma once

#include <cstdint>

#include "data/data_options.h"
#include "data/images/image_dataset.h"
#include "data/tokenizer.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// data.train and data.evaluate of an image model.
Datasets image_datasets(const ObjectiveOptions& objective,
                        const data::DataOptions& options,
                        const models::ModelOptions& model,
                        const data::Tokenizer& pixels,
                        uint64_t seed);

/// Maps the head that an objective needs to one of the model's family: for images a sequence
/// classifier becomes an image classifier, possibly with a separate one for the teacher; without an
/// encoder, a conditional head becomes a causal one.
models::Head head_for(models::Head wanted, const models::ModelOptions& model);

}  // namespace weft::objectives
