#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/config/options.h"
#include "nn/module.h"
#include "objectives/options.h"

namespace weft::train {

/// The parameters that the items of `train.freeze` name. An item is a parameter or a part of the
/// model (`embeddings`, `layers.3`), a range of layers (`layers.0-5`), a pattern over parameters
/// (`*.bias`), or `backbone`: all but pooler and head. Throws std::invalid_argument, with the
/// nearest right name, for an item that names nothing, and where nothing is left to train.
std::set<std::string> frozen_parameters(const std::vector<std::string>& items,
                                        const std::vector<std::string>& parameters);

/// Names of all parameters of a model of these options, in the order of computation.
std::vector<std::string> parameter_names(const models::ModelOptions& options);
/// And of the generator that the objective puts beside it, what both embed under two names.
std::vector<std::string> parameter_names(const models::ModelOptions& options,
                                         const objectives::ObjectiveOptions& objective);

/// Freezes them in the model. Throws UserError.
void freeze(nn::Module& model, const std::vector<std::string>& items);

}  // namespace weft::train
