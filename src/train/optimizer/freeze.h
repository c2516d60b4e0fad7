#pragma once

#include <set>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "models/config/options.h"
#include "objectives/objective.h"

namespace weft::train {

/// Parameters selected by an item of `train.freeze`: a parameter or a part of the model
/// (`embeddings`, `layers.3`), a range of layers (`layers.0-5`), a parameter pattern (`*.bias`), or
/// `backbone`: all but pooler and head. Throws std::invalid_argument if it matches nothing, with
/// the nearest valid name.
std::set<std::string> selected_parameters(const std::string& item,
                                          const std::vector<std::string>& parameters);

/// Parameters selected by all items of `train.freeze`. Throws std::invalid_argument also if nothing
/// is left to train.
std::set<std::string> frozen_parameters(const std::vector<std::string>& items,
                                        const std::vector<std::string>& parameters);

/// Names of all parameters of a model of these options, in the order of computation.
std::vector<std::string> parameter_names(const models::ModelOptions& options);
/// Also with the objective's generator; shared embeddings appear under both names.
std::vector<std::string> parameter_names(const models::ModelOptions& options,
                                         const objectives::Objective& objective);

/// Freezes these parameters in the model. Throws UserError.
void freeze(torch::nn::Module& model, const std::vector<std::string>& items);

}  // namespace weft::train
