#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/forward/forward_inputs.h"
#include "models/model.h"

namespace weft::cli {

/// Outputs by name of transformers' model of the same architecture, with `loss` if there are
/// targets. The loss is computed as in transformers; the forward pass is that of training: packed.
std::map<std::string, at::Tensor> forward_pass(models::Model& model, const ForwardInputs& inputs);

}  // namespace weft::cli
