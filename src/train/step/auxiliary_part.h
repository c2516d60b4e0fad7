#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/auxiliary_losses.h"
#include "nn/carried_state.h"
#include "train/step/step_totals.h"

namespace weft::train {

/// The loss of a micro-batch with those of its layers.
struct AuxiliaryPart {
  at::Tensor loss;                                         // undefined if nothing has a gradient
  std::vector<std::pair<std::string, at::Tensor>> logged;  // by name, before their weights
};

/// Adds the losses of layers to that of the objective, which may be undefined. What layers have
/// drawn at random for a sequence is trained by REINFORCE: (loss - baseline) * log-probability,
/// whose gradient is an estimate of that of the expected loss (arXiv:1502.03044, equations 11 to
/// 13); its value is left out. The baseline is a moving average in `state`; the first step has
/// none, and no such loss. Throws UserError if the objective has set no loss of each sequence.
AuxiliaryPart add_auxiliary_losses(at::Tensor loss,
                                   const nn::AuxiliaryLosses& losses,
                                   const nn::CarriedState& state,
                                   const StepTotals& totals);

/// Sets the baseline of the next step, given what all micro-batches of this one have logged.
void update_draw_baseline(const std::map<std::string, double>& logged, nn::CarriedState& state);

}  // namespace weft::train
