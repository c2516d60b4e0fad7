#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// Masked language modelling, optionally with a task on pairs of texts (arXiv:1810.04805, section
/// 3.1).
std::unique_ptr<Objective> make_masked_lm_objective(const ObjectiveOptions& options);

}  // namespace weft::objectives
