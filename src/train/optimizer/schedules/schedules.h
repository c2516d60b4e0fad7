#pragma once

#include "train/optimizer/schedule_definition.h"

namespace weft::train {

// Their values match transformers.get_scheduler.
ScheduleDefinition constant();
ScheduleDefinition linear();
ScheduleDefinition cosine();
ScheduleDefinition cosine_with_restarts();
ScheduleDefinition polynomial();
ScheduleDefinition inverse_sqrt();
ScheduleDefinition warmup_stable_decay();

/// Reads the key `min_lr_ratio`, the least rate as a fraction of lr. Throws config::Error.
void read_min_lr_ratio(config::Section& section, double& min_lr_ratio);

/// Fraction of the way from the end of warmup to the end of the run, 0 to 1.
double decay_progress(double at, const ScheduleSpan& span);

/// Falls from 1 to 0 along half a cosine while `progress` goes from 0 to 1.
double half_cosine(double progress);

/// Shrinks a curve that falls from 1 to 0 to one that falls from 1 to `min_lr_ratio`.
double raised(double factor, double min_lr_ratio);

}  // namespace weft::train
