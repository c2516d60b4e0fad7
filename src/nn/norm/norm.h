#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>

#include "kernels/random_bits.h"
#include "nn/component.h"

namespace weft::nn {

/// After the residual sum (arXiv:1706.03762), before the sub-layer (arXiv:2002.04745), before it
/// and after it (arXiv:2105.13290), or nowhere.
enum class NormPlacement { kPost, kPre, kSandwich, kNone };

class Norm;
struct NormOptions;
using NormDefinition = ComponentDefinition<Norm, NormOptions>;
using NormMaker = NormDefinition::Maker;
using NormChoice = ComponentChoice<Norm, NormOptions>;

/// Type `layer` (arXiv:1607.06450).
std::shared_ptr<Norm> make_layer_norm(const NormOptions& options);

struct NormOptions {
  int64_t dim = 0;  // D
  double epsilon = 1e-12;
  bool has_bias = true;  // of types that can have one
  NormMaker make = make_layer_norm;
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

/// The norm of the options' type.
inline std::shared_ptr<Norm> make_norm(const NormOptions& options) { return options.make(options); }

/// The values of `model.norm.type`.
const Registry<NormDefinition>& norm_types();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_norm(const NormDefinition& definition);

/// Type `rms` (arXiv:1910.07467): scale only, the mean is not subtracted.
std::shared_ptr<Norm> make_rms_norm(const NormOptions& options);

}  // namespace weft::nn
