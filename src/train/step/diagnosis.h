#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "data/dataset.h"
#include "data/loader.h"
#include "models/model.h"
#include "nn/pass.h"
#include "objectives/objective.h"
#include "train/optimizer/arena.h"

namespace weft::train {

/// The first parameter that the backward pass gave a gradient that is not finite, by its name in
/// the model's file; empty where all are finite.
std::string first_bad_tensor(const Arena& arena,
                             const at::Tensor& gradient,
                             const models::ModelOptions& model);

/// A step whose loss or gradient was not finite, in words: by a second forward pass of it, which
/// draws the same chance, the first layer whose activations are not finite, and the texts whose
/// loss is not; where all are finite, the first texts of the step. `place`: the step's pass.
std::string where_it_broke(const objectives::Objective& objective,
                           models::Model& model,
                           const data::Dataset& dataset,
                           const data::StepBatches& batches,
                           const nn::Pass& place);

/// The texts that a step begins with, by their places, and how many there are.
std::string texts_of(const data::Dataset& dataset, const data::StepBatches& batches);

}  // namespace weft::train
