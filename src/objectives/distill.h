#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// What a larger model says, beside what is right (arXiv:1503.02531; arXiv:1910.01108, section 3):
/// the divergence of the student's distribution from the teacher's, both at a temperature, times
/// its square, or of a classifier the teacher's class taken for the right one (arXiv:2012.12877);
/// the loss of the task itself; and, of the tokens that they read, the cosine distance of the last
/// hidden states and the divergence of attention (objectives/attention_distance.h). The terms are
/// `soft`, `hard`, `hidden` and `attention`; those of weight 0 are left out. The teacher is loaded
/// when it is first asked. Evaluation is the task's own.
std::unique_ptr<Objective> make_distill_objective(const ObjectiveOptions& options);

/// The same options as those of the task that the student learns.
ObjectiveOptions task_of(const ObjectiveOptions& distillation);

/// Throws config::Error.
void read_distill_options(config::Section& section, DistillOptions& options);

}  // namespace weft::objectives
