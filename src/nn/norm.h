#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>

#include "config/section.h"
#include "kernels/random_bits.h"

namespace weft::nn {

/// kRms: without mean and bias (arXiv:1910.07467).
enum class NormType { kLayer, kRms };

struct NormOptions {
  NormType type = NormType::kLayer;
  int64_t dim = 0;  // D
  double epsilon = 1e-12;
  bool has_bias = true;
};

/// A branch to add to the residual stream, after dropout.
struct Residual {
  at::Tensor stream;  // (N, D)
  at::Tensor branch;  // (N, D)
  double dropout = 0;
  kernels::RngKey rng_key;
};

/// Normalises each token. (N, D) -> (N, D).
class Norm : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
  /// Norm of stream + dropout(branch): the end of a post-norm sub-layer.
  virtual at::Tensor add_norm(const Residual& residual) = 0;
};

std::shared_ptr<Norm> make_norm(const NormOptions& options);

/// Config values of `norm.type`.
const config::Choices<NormType>& norm_types();

}  // namespace weft::nn
