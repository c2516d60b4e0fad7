#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/run/run_config.h"
#include "train/step/run_components.h"

namespace weft::train {

// What a run shows in TensorBoard besides its metrics, as values for MetricsLog::write_values.

/// At the start of a run: the config as text, its hyperparameters, and examples of the training
/// data as the model sees them, images or decoded texts.
std::vector<std::string> start_values(const RunConfig& config, const RunComponents& components);

/// Histograms of tensors, by tag; those with values that are not finite are left out.
std::vector<std::string> histogram_values(
    const std::vector<std::pair<std::string, at::Tensor>>& tensors);

}  // namespace weft::train
