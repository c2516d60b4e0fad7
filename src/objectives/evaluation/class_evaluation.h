#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// For single-label classification.
std::unique_ptr<Evaluation> make_class_evaluation(const ClassOptions& options);

/// For multi-label classification.
std::unique_ptr<Evaluation> make_multi_label_evaluation(const ClassOptions& options);

}  // namespace weft::objectives
