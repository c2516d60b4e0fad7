#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/forward/forward_inputs.h"
#include "models/model.h"

namespace weft::cli {

/// Checks pixel_values (B, C, H, W) and the related inputs; sizes other than the model's are
/// allowed if they are whole patches.
void check_image_inputs(const ForwardInputs& inputs, const models::ModelOptions& options);

/// One forward pass of an image model: `logits`; `last_hidden_state` and `pooler_output`;
/// `reconstruction` (B, C, H, W); `loss` if there are labels or hidden patches.
std::map<std::string, at::Tensor> image_forward_pass(models::Model& model,
                                                     const ForwardInputs& inputs);

/// (B, C, H, W) -> (B * patches, C p p) and back; `rows` patches from above.
at::Tensor to_patches(const at::Tensor& pixels, int64_t patch);
at::Tensor from_patches(const at::Tensor& patches, const at::IntArrayRef& shape, int64_t patch);

}  // namespace weft::cli
