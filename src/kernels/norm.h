#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/random_bits.h"

namespace weft::kernels {

/// LayerNorm over the last dimension (arXiv:1607.06450), statistics in fp32. x (N, D); weight, bias
/// (D); the bias may be undefined.
at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon);

/// RMSNorm over the last dimension (arXiv:1910.07467), statistics in fp32. x (N, D); weight (D).
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// Tensors to save instead of y for the backward pass of an operation that reads y. Usually y
/// itself; if y is the direct output of layer_norm or rms_norm on a CPU, the tensors that they save
/// anyway, from which it can be recomputed: x (N, D), mean and 1 / standard deviation (N), fp32,
/// weight (D), bias (D) or undefined. The norm's own backward pass must not have run.
std::vector<at::Tensor> save_for_recompute(const at::Tensor& y);
/// Recomputes y from the saved tensors, bit-identical.
at::Tensor recompute(at::TensorList kept);

/// residual + dropout(branch) in one pass. (N, D), (N, D) -> (N, D).
at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const RngKey& rng_key);

struct NormWeights {
  at::Tensor weight;  // (D)
  at::Tensor bias;    // (D), or undefined
  double epsilon = 1e-12;
  bool is_rms = false;  // RMSNorm, without bias
};

/// norm(residual + dropout(branch)): the end of a post-norm sub-layer in one pass. (N, D), (N, D)
/// -> (N, D).
at::Tensor add_dropout_norm(const at::Tensor& residual,
                            const at::Tensor& branch,
                            const NormWeights& norm,
                            double p,
                            const RngKey& rng_key);

/// Rows per block when the backward pass sums the gradients of weight and bias block by block; the
/// blocks are few enough that their partial sums stay small compared with the data.
int64_t norm_block_rows(int64_t rows);

}  // namespace weft::kernels
