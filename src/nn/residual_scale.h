#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "nn/component.h"

namespace weft::nn {

struct ResidualScaleOptions {
  int64_t dim = 0;                 // D
  std::string_view sublayer = {};  // name of its kind
};

/// Scales the output of a sub-layer before it is added to its input.
class ResidualScale : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& branch) const = 0;  // (N, D) -> (N, D)
  /// Whether it is added; else the output takes the place of the input.
  virtual bool keeps_input() const { return true; }
};

using ResidualScaleDefinition = ComponentDefinition<ResidualScale, ResidualScaleOptions>;
using ResidualScaleMaker = ResidualScaleDefinition::Maker;
using ResidualScaleChoice = ComponentChoice<ResidualScale, ResidualScaleOptions>;

/// The values of `model.residual.type`. A maker may return nullptr: the branch is added as it is.
const Registry<ResidualScaleDefinition>& residual_types();

/// Whether the connections of this type add to the input.
bool keeps_input(const ResidualScaleMaker& make);

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_residual(const ResidualScaleDefinition& definition);

}  // namespace weft::nn
