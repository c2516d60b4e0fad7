#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Pixels of hidden patches (SimMIM, arXiv:2111.09886): the mean absolute difference.
std::unique_ptr<Objective> make_masked_image_objective(const ObjectiveOptions& options);

/// The keys of an objective of type masked_image. Throws config::Error.
void read_masked_image(config::Section& section, data::MaskedImageOptions& options);

}  // namespace weft::objectives
