#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/forward/raw_inputs.h"
#include "models/model.h"

namespace weft::cli {

/// What transformers' model of the same architecture returns: outputs by name, `loss` among them
/// where there are targets. Its arithmetic of losses is theirs, the way through the model is that
/// of training: packed.
std::map<std::string, at::Tensor> raw_pass(models::Model& model, const RawInputs& inputs);

}  // namespace weft::cli
