#pragma once

#include <cstdint>

#include <torch/nn/module.h>

#include "nn/component.h"

namespace weft::nn {

/// What the attention of a decoder gives to every kind of local attention.
struct LocalWindowOptions {
  int64_t query_width = 0;  // Q
};

/// Local attention (arXiv:1508.04025, section 3.2): a step of a decoder attends to the source
/// tokens s with |s - p| <= D only, for a centre p of its own. Tokens are numbered from 0 in each
/// source.
class LocalWindow : public torch::nn::Module {
 public:
  /// `window`: of tokens, half of them (D, rounded down) on each side of the centre.
  explicit LocalWindow(int64_t window) : radius_(window / 2) {}

  /// The centre of each query's window, (B, L) in fp32 (fp64), between 0 and the length of the
  /// source. query (B, L, Q), positions of the queries in their targets (B, L), lengths of the
  /// sources (B), which are at least 1.
  virtual at::Tensor centres(const at::Tensor& query,
                             const at::Tensor& positions,
                             const at::Tensor& lengths) = 0;
  /// Changes the weights after the softmax over the window, at these distances s - p. (B, L, S)
  virtual at::Tensor weighted(const at::Tensor& weights, const at::Tensor& /*distances*/) const {
    return weights;
  }

  int64_t radius() const { return radius_; }  // D

 private:
  int64_t radius_;
};

using LocalWindowDefinition = ComponentDefinition<LocalWindow, LocalWindowOptions>;
using LocalWindowMaker = LocalWindowDefinition::Maker;

/// The values of `model.attention.local` of recurrent encoder-decoders.
const Registry<LocalWindowDefinition>& local_windows();

}  // namespace weft::nn
