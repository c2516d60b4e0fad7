#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/forward/raw_inputs.h"
#include "models/model.h"

namespace weft::cli {

/// Checks pixel_values (B, C, H, W) and what goes with them; other sizes than the model's own are
/// fine where they are whole patches.
void check_images(const RawInputs& inputs, const models::ModelOptions& options);

/// One pass through a model of images: `logits`; `last_hidden_state` and `pooler_output`;
/// `reconstruction` (B, C, H, W); `loss` where there are labels or hidden patches.
std::map<std::string, at::Tensor> raw_image_pass(models::Model& model, const RawInputs& inputs);

/// (B, C, H, W) -> (B * patches, C p p) and back; `rows` patches from above.
at::Tensor to_patches(const at::Tensor& pixels, int64_t patch);
at::Tensor from_patches(const at::Tensor& patches, const at::IntArrayRef& shape, int64_t patch);

}  // namespace weft::cli
