#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

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

/// Lays the linear layers out for the products of few rows that decoding makes, in fp32 on the CPU;
/// values and shapes stay. After prepare_for_inference.
void prepare_for_decoding(Model& model);

/// bf16 where the device multiplies it by itself, else fp32.
at::ScalarType fast_type(const at::Device& device);

}  // namespace weft::models
