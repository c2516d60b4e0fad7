#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// One class for each text or pair of texts.
std::unique_ptr<Objective> make_classify_objective(const ObjectiveOptions& options);

/// One number for each text or pair of texts.
std::unique_ptr<Objective> make_regress_objective(const ObjectiveOptions& options);

}  // namespace weft::objectives
