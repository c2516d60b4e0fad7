#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "data/data_loader.h"
#include "data/dataset.h"
#include "models/model.h"
#include "nn/forward_context.h"
#include "objectives/objective.h"
#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"

namespace weft::train {

/// Name, in the model's file, of the last parameter of the forward pass, hence the first of the
/// backward pass, whose gradient is not finite on any rank; empty if all are finite. `gradient`: of
/// the owned elements.
std::string first_nonfinite_gradient(const FlatParameters& flat_parameters,
                                     const at::Tensor& gradient,
                                     const models::ModelOptions& model,
                                     ProcessGroup& group);

/// Describes a step whose loss or gradient was not finite. Repeats its forward pass with the same
/// random keys to locate the first layer whose activations are not finite, and the texts whose loss
/// is not; if all are finite, the first texts of the step. `context`: that of the step.
std::string locate_nonfinite(const objectives::Objective& objective,
                             models::Model& model,
                             const data::Dataset& dataset,
                             const data::StepBatches& batches,
                             const nn::ForwardContext& context);

/// The first texts of a step, by their source locations, and the number of texts.
std::string describe_texts(const data::Dataset& dataset, const data::StepBatches& batches);

}  // namespace weft::train
