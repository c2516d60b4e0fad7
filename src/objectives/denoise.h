#pragma once

#include <memory>

#include "config/section.h"
#include "data/datasets/corruption.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type denoise: BART's, whose target is the text behind the noise (arXiv:1910.13461, section 2.2).
std::unique_ptr<Objective> make_denoise(const data::DenoisingOptions& options = {});
std::unique_ptr<Objective> read_denoise(config::Section& section);

}  // namespace weft::objectives
