#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "train/optimizer/optimizer_options.h"

namespace weft::train {

/// Number of blocks L of a model with these parameters.
int64_t count_layers(const std::vector<std::string>& parameters);

/// Depth of a parameter: 0 for the embeddings and their projection, i + 1 for block i, L for the
/// norm after the last block, L + 1 for pooler and head. All families use these parameter names; a
/// generator's parameters have the depths of their counterparts in the model.
int64_t parameter_depth(const std::string& parameter, int64_t layers);

/// Learning rate factor of a parameter, by its name.
using LrScaleFunction = std::function<double(const std::string&)>;

/// Learning rate factors by layer (arXiv:1905.05583): `layer_decay` to the power of L + 1 - depth,
/// so 1 for the head, d for the top block, d^(L + 1) for the embeddings; with `head_lr`, the head's
/// factor is head_lr / lr. Empty if all would be 1.
LrScaleFunction layer_wise_lr_scales(const OptimizerOptions& options,
                                     const torch::nn::Module& model);

}  // namespace weft::train
