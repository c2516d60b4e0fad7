#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "kernels/activation.h"
#include "nn/forward_context.h"
#include "nn/norm/norm.h"
#include "nn/row_selection.h"

namespace weft::nn {

struct InputConvolutionOptions {
  int64_t kernel = 3;  // k, odd
  int64_t groups = 1;  // G, divides the features
  kernels::Activation activation = kernels::Activation::kTanh;

  bool operator==(const InputConvolutionOptions&) const = default;
};

/// A convolution of a stack's input beside its first layer, whose output it is added to:
/// norm(states + activation(dropout(convolution(input)))). DeBERTa-v2 has it to see n-grams (the
/// largest models of arXiv:2006.03654; modeling_deberta_v2.py of transformers). Sequences end in
/// zeros on both sides.
class InputConvolution : public torch::nn::Module {
 public:
  /// `norm`: of the sum, of the D features. `dropout`: rate.
  InputConvolution(const InputConvolutionOptions& own, const NormOptions& norm, double dropout);

  /// `input` (N, D); `states` after the first layer: (N, D), or those of the selected rows (M, D).
  at::Tensor forward(const at::Tensor& input,
                     const at::Tensor& states,
                     const ForwardContext& context,
                     const RowSelection* selection) const;

 private:
  kernels::Activation activation_;
  double dropout_;
  at::Tensor weight_;  // (D, D / G, k), as in torch::nn::Conv1d
  at::Tensor bias_;    // (D)
  std::shared_ptr<Norm> norm_;
};

}  // namespace weft::nn
