#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/loss/class_options.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type classify: one class for each text, pair of texts or image (loss term `classify`), or, of
/// texts, any number of classes (loss term `multi_label`).
std::unique_ptr<Objective> make_classify(const ClassOptions& options = {});
std::unique_ptr<Objective> read_classify(config::Section& section);

}  // namespace weft::objectives
