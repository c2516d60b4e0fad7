#pragma once

#include <memory>

#include "config/section.h"
#include "data/images/image_options.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type masked_image: predicts the pixels of masked patches (SimMIM, arXiv:2111.09886); mean
/// absolute error.
std::unique_ptr<Objective> make_masked_image(const data::MaskedImageOptions& mask = {});
std::unique_ptr<Objective> read_masked_image(config::Section& section);

}  // namespace weft::objectives
