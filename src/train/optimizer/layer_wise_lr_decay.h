#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "train/optimizer/optimizer_options.h"

namespace weft::train {

/// Depths of the parameters of a model, by their names, which are the same for all families.
class ParameterDepths {
 public:
  explicit ParameterDepths(const std::vector<std::string>& parameters);

  /// 0 for embeddings and their projection; i + 1 for block i, where the blocks of a decoder follow
  /// those of its encoder; L for what comes after the last block, such as a norm; L + 1 for pooler
  /// and head. A generator's parameters have the depths of their counterparts in the model.
  int64_t of(const std::string& parameter) const;
  bool is_head(const std::string& parameter) const { return of(parameter) > layers(); }

  /// L, the number of blocks.
  int64_t layers() const { return blocks_ + decoder_blocks_; }
  /// Those named `layers.i`.
  int64_t blocks() const { return blocks_; }

 private:
  int64_t blocks_ = 0;
  int64_t decoder_blocks_ = 0;
};

/// Learning rate factor of a parameter, by its name.
using LrScaleFunction = std::function<double(const std::string&)>;

/// Learning rate factors by layer (arXiv:1905.05583): `layer_decay` to the power of L + 1 - depth,
/// so 1 for the head, d for the top block, d^(L + 1) for the embeddings; with `head_lr`, the head's
/// factor is head_lr / lr. Empty if all would be 1.
LrScaleFunction layer_wise_lr_scales(const OptimizerOptions& options,
                                     const torch::nn::Module& model);

}  // namespace weft::train
