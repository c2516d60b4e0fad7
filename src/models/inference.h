#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "kernels/linear/product.h"
#include "models/model.h"

namespace weft::models {

/// Device and number format of a trained model.
struct InferenceOptions {
  at::Device device = at::Device(at::kCPU);
  at::ScalarType type = at::kFloat;
  bool is_quantized = false;  // weights of linear layers in int8
};

/// Moves a trained model to its device and number format. An output matrix over the vocabulary is
/// not quantised. Throws UserError where the model has no layers to quantise, the device does not
/// support it, or weights are not finite: nothing that such a model computes means anything.
void prepare_for_inference(Model& model, const InferenceOptions& options);

/// Packs the weights of the linear layers for the small products of decoding and releases the
/// originals: the model can only decode from now on. Returns the output matrix over the vocabulary,
/// (D, V), or an empty one if only lm_logits gives the logits; the model keeps its copy. Call after
/// prepare_for_inference.
kernels::PackedMatrix prepare_for_decoding(Model& model);

/// bf16 where the device has native bf16 products, else fp32.
at::ScalarType fast_type(const at::Device& device);

}  // namespace weft::models
