#pragma once

#include <optional>

#include "train/checkpoint/checkpoint.h"
#include "train/run/run_config.h"
#include "train/step/run_components.h"
#include "train/step/state.h"
#include "train/step/trainer_options.h"

namespace weft::train {

/// State in which a process begins: that of the checkpoint `from`, if there is one, updated with
/// the properties of this process. Logs what differs. Throws UserError if the training data differ
/// and that is not allowed.
TrainState initial_state(const RunConfig& config,
                         const RunComponents& components,
                         const TrainerOptions& options,
                         const std::optional<ResumePoint>& from);

}  // namespace weft::train
