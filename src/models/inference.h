#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "kernels/linear/product.h"
#include "kernels/linear/quantized_linear.h"
#include "models/directory.h"
#include "models/model.h"

namespace weft::models {

/// Device and number format of a trained model.
struct InferenceOptions {
  at::Device device = at::Device(at::kCPU);
  at::ScalarType type = at::kFloat;
  bool is_quantized = false;          // weights of linear layers in int8
  std::optional<double> budget = {};  // of a model with gates, in place of its own
};

/// Loads a trained model as load_model does, and prepares it for inference module by module: a
/// model in bf16 or int8 is never in memory in fp32. Throws as both do.
LoadedModel load_for_inference(const std::string& directory,
                               const ModelOptions& options,
                               const InferenceOptions& inference);

/// Throws formats::Error naming a missing key, if there are any.
void require_trained_head(const std::string& directory, const LoadedModel& loaded);

/// Moves a trained model to its device and number format. An output matrix over the vocabulary is
/// only quantised for decoding. Throws UserError where the model has no layers to quantise, the
/// device does not support it, the model has not this budget, or weights are not finite: nothing
/// that such a model computes means anything.
void prepare_for_inference(Model& model, const InferenceOptions& options);

/// The output matrix over the vocabulary as decoding multiplies with it: packed, or in int8 with
/// its bias.
struct DecodingOutput {
  kernels::PackedMatrix packed = {};  // (D, V); empty if only lm_logits gives the logits
  at::Tensor bias = {};               // (V) of `packed`, or undefined
  std::optional<kernels::QuantizedWeight> quantized = std::nullopt;

  bool has_matrix() const { return quantized || packed.depth > 0; }
  /// Logits (N, V) of hidden states (N, D).
  at::Tensor logits(Model& model, const nn::TokenStates& rows) const;
  /// The part of the matrix that gives the logits of these tokens, in this order.
  DecodingOutput select(Model& model, const std::vector<int64_t>& tokens) const;
};

/// Packs the weights of the linear layers for the small products of decoding and releases the
/// originals: the model can only decode from now on. The output matrix is in int8 if the layers
/// are; the model keeps its copy. Call after prepare_for_inference.
DecodingOutput prepare_for_decoding(Model& model);

/// bf16 where the device has native bf16 products, else fp32.
at::ScalarType fast_type(const at::Device& device);

}  // namespace weft::models
