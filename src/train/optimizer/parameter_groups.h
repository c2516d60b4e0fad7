#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer_options.h"

namespace weft::train {

/// Number of the group of each parameter that a pattern of `train.optimizer.groups` matches, from
/// 1: the first such group. Throws std::invalid_argument for a pattern that matches nothing, with
/// the nearest name, or nothing that is trained and in no earlier group.
std::map<std::string, std::size_t> parameter_groups(const std::vector<OptimizerOptions>& groups,
                                                    const std::vector<std::string>& parameters,
                                                    const std::set<std::string>& frozen);

/// How the optimizer updates each parameter of the module, for its flat parameters. The settings
/// are valid as long as the module. Throws UserError as parameter_groups.
ParameterSettingsFunction parameter_settings(const OptimizerOptions& options,
                                             const torch::nn::Module& module);

}  // namespace weft::train
