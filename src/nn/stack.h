#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/block.h"
#include "nn/module.h"

namespace weft::nn {

struct StackOptions {
  int64_t layers = 0;
  BlockOptions block;                            // of each layer; `layer` is filled in
  std::vector<AttentionOptions> attention = {};  // of each layer; empty: that of `block` for all
  bool has_first_norm = true;  // pre-norm only: false where the embeddings end in a norm
};

/// Blocks one after another; pre-norm stacks end in a norm of their own.
class Stack : public Module {
 public:
  explicit Stack(const StackOptions& options);

  at::Tensor forward(const at::Tensor& x, const Pass& pass);  // (N, D) -> (N, D)
  /// Of `forward` the rows of the sequences' first tokens: the last block computes no others.
  /// (N, D) -> (B, D)
  at::Tensor first_tokens(const at::Tensor& x, const Pass& pass);

 private:
  at::Tensor normed(const at::Tensor& stream) const;

  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Norm> norm_;  // stays empty in post-norm stacks
};

}  // namespace weft::nn
