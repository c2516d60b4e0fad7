#pragma once

#include <cstdint>

#include "data/data_options.h"
#include "data/images/image_dataset.h"
#include "data/tokenizer.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// data.train and data.evaluate of a model of images.
TaskData image_task_data(const ObjectiveOptions& objective,
                         const data::DataOptions& options,
                         const models::ModelOptions& model,
                         const data::Tokenizer& pixels,
                         uint64_t seed);

/// The head that an objective needs, as the model's family has it: a classifier of texts is one of
/// images there, beside which a teacher may have one of its own; what answers a source goes on with
/// it where there is no encoder.
models::Head head_for(models::Head wanted, const models::ModelOptions& model);

}  // namespace weft::objectives
