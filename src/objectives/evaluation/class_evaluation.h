#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// Of one class for each text.
std::unique_ptr<Evaluation> make_class_evaluation(const ClassOptions& options);

/// Of any number of classes for each text.
std::unique_ptr<Evaluation> make_flag_evaluation(const ClassOptions& options);

}  // namespace weft::objectives
