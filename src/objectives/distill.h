#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/distill_options.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type distill: knowledge distillation (arXiv:1503.02531; arXiv:1910.01108, section 3). The terms
/// are `soft`, the divergence from the teacher's distribution, both at a temperature, times its
/// square, or for classifiers the cross-entropy with the teacher's class (arXiv:2012.12877);
/// `hard`, the loss of the student objective; and, on input tokens, `hidden`, the cosine distance
/// of the last hidden states, and `attention`, the divergence of attention
/// (objectives/loss/attention_distillation.h). Those of weight 0 are left out. The teacher is
/// loaded on first use. Evaluation is the student objective's.
std::unique_ptr<Objective> make_distill(const DistillOptions& options);
std::unique_ptr<Objective> read_distill(config::Section& section);

}  // namespace weft::objectives
