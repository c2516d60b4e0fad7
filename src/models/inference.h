#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "kernels/linear/product.h"
#include "models/model.h"

namespace weft::models {

/// How a trained model computes its answers.
struct InferenceOptions {
  at::Device device = at::Device(at::kCPU);
  at::ScalarType type = at::kFloat;
  bool is_quantized = false;  // weights of linear layers in int8
};

/// Brings a model that is not trained any further to its device and number format. An output matrix
/// over the vocabulary is not quantised. Throws UserError where the model has nothing to quantise
/// or the device no such arithmetic.
void prepare_for_inference(Model& model, const InferenceOptions& options);

/// Packs the weights of the linear layers for the products of few rows that decoding makes, and
/// gives them up: the model serves decoding alone from now on. Returns the output matrix over the
/// vocabulary, (D, V); the model keeps its own. After prepare_for_inference.
kernels::PackedMatrix prepare_for_decoding(Model& model);

/// bf16 where the device multiplies it by itself, else fp32.
at::ScalarType fast_type(const at::Device& device);

}  // namespace weft::models
