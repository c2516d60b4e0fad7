#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Predicts the pixels of masked patches (SimMIM, arXiv:2111.09886); mean absolute error.
std::unique_ptr<Objective> make_masked_image_objective(const ObjectiveOptions& options);

/// Reads the keys of type masked_image. Throws config::Error.
void read_masked_image(config::Section& section, data::MaskedImageOptions& options);

}  // namespace weft::objectives
