#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/block.h"
#include "nn/module.h"
#include "nn/position/relative_bias.h"

namespace weft::nn {

struct StackOptions {
  int64_t layers = 0;
  BlockOptions block;                            // of each layer; `layer` is filled in
  std::vector<AttentionOptions> attention = {};  // of each layer; empty: that of `block` for all
  bool has_first_norm = true;  // pre-norm only: false where the embeddings end in a norm
  bool has_final_norm = true;  // pre-norm only
  int64_t first_layer = 0;     // number of the first layer: chance of a decoder beside an encoder
                               // counts on from the encoder's
  RelativeBiasOptions relative = {};  // added to the scores of all layers that have distances
};

/// Blocks one after another; pre-norm stacks end in a norm of their own.
class Stack : public Module {
 public:
  explicit Stack(const StackOptions& options);

  at::Tensor forward(const at::Tensor& x, const Pass& pass);  // (N, D) -> (N, D)
  /// Of `forward` some rows: the last block computes no others. (N, D) -> (M, D)
  at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen);

 private:
  /// The pass with what the layers share.
  Pass shared(const Pass& pass) const;
  at::Tensor normed(const at::Tensor& stream) const;
  /// What leaves the first `count` blocks.
  at::Tensor through_first(std::size_t count, const at::Tensor& x, const Pass& pass) const;

  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<RelativeBias> relative_bias_;  // stays empty where there are no such positions
  std::shared_ptr<Norm> norm_;                   // stays empty in post-norm stacks
};

}  // namespace weft::nn
