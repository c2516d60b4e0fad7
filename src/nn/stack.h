#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/nn/module.h>

#include "nn/block.h"
#include "nn/position/relative_bias.h"

namespace weft::nn {

struct StackOptions {
  int64_t layers = 0;
  BlockOptions block;                            // of each layer; `layer` is filled in
  std::vector<AttentionOptions> attention = {};  // of each layer; empty: that of `block` for all
  bool has_first_norm = true;  // pre-norm only: false where the embeddings end in a norm
  bool has_final_norm = true;  // pre-norm only
  int64_t first_layer = 0;     // index of the first layer: a decoder's dropout sites continue after
                               // those of its encoder
  RelativeBiasOptions relative = {};  // added to the scores of all layers with has_distance_bias
};

/// Sequence of blocks; pre-norm stacks end in a final norm.
class Stack : public torch::nn::Module {
 public:
  explicit Stack(const StackOptions& options);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context);  // (N, D) -> (N, D)
  /// Only the selected rows of forward(); the last block skips the others. (N, D) -> (M, D)
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection);

 private:
  /// The context with the distance bias shared by the layers.
  ForwardContext with_distance_bias(const ForwardContext& context) const;
  at::Tensor final_norm(const at::Tensor& stream) const;
  /// Output of the first `count` blocks.
  at::Tensor forward_first(std::size_t count,
                           const at::Tensor& x,
                           const ForwardContext& context) const;

  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<RelativeBias> relative_bias_;  // null without relative positions
  std::shared_ptr<Norm> norm_;                   // null in post-norm stacks
};

}  // namespace weft::nn
