#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/chance.h"

namespace weft::kernels {

/// LayerNorm over the last dimension (arXiv:1607.06450), statistics in fp32. x (N, D); weight, bias
/// (D); the bias may be undefined.
at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon);

/// RMSNorm over the last dimension (arXiv:1910.07467), statistics in fp32. x (N, D); weight (D).
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// What to keep of y for the backward pass of an operation that reads it: y, or where layer_norm or
/// rms_norm has just made it, what they keep anyway and make it of: x (N, D), mean and 1 /
/// deviation (N), fp32, weight (D), bias (D) or undefined. The norm's own backward pass must not
/// have run.
std::vector<at::Tensor> kept_of(const at::Tensor& y);
/// y of what was kept, the same bits.
at::Tensor made_again(at::TensorList kept);

/// residual + dropout(branch), one pass. (N, D), (N, D) -> (N, D).
at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const Chance& chance);

struct NormWeights {
  at::Tensor weight;  // (D)
  at::Tensor bias;    // (D), or undefined
  double epsilon = 1e-12;
  bool is_rms = false;  // rms_norm, without bias
};

/// norm(residual + dropout(branch)): the end of a post-norm sub-layer in one pass. (N, D),
/// (N, D) -> (N, D).
at::Tensor add_dropout_norm(const at::Tensor& residual,
                            const at::Tensor& branch,
                            const NormWeights& norm,
                            double p,
                            const Chance& chance);

/// The backward pass adds up the gradients of weight and bias block by block, of so many rows each;
/// few enough blocks that their sums stay small beside the data.
int64_t norm_block_rows(int64_t rows);

}  // namespace weft::kernels
