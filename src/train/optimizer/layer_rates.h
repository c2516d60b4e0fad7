#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/module.h"
#include "train/optimizer/arena.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// How many blocks a model of these parameters stacks: L.
int64_t layers_in(const std::vector<std::string>& parameters);

/// How high a parameter stands: 0 for the embeddings and their projection, i + 1 for block i, L for
/// the norm after the last block, L + 1 for pooler and head. Every family names its parts so, and a
/// generator beside the model stands as high as these.
int64_t depth_of(const std::string& parameter, int64_t layers);

/// Factors of the learning rate by layer (arXiv:1905.05583): `layer_decay` to the power of
/// L + 1 - depth, so 1 for the head, d for the top block, d^(L + 1) for the embeddings; with
/// `head_lr` the head's is head_lr / lr. Nothing where all would be 1.
RateOf layer_rates(const OptimizerOptions& options, const nn::Module& model);

}  // namespace weft::train
