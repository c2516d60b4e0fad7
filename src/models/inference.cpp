#include "models/inference.h"

#include <cmath>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/linear/blocked_product.h"
#include "kernels/optimizer.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "nn/depth/computation_gate.h"
#include "nn/linear.h"

namespace weft::models {

namespace {

/// Visits the linear layers of a module and its descendants.
template <class Visit>
void visit_linears(torch::nn::Module& part, const Visit& visit) {
  if (auto* linear = dynamic_cast<nn::LinearImpl*>(&part)) {
    visit(*linear);
    return;
  }
  for (const auto& child : part.children()) {
    visit_linears(*child, visit);
  }
}

/// Visits the linear layers except an output matrix over the vocabulary.
template <class Visit>
void visit_inner_linears(Model& model, const Visit& visit) {
  const auto excluded =
      head_of(model.options()).predicts_words() ? model.output_weight() : at::Tensor();
  visit_linears(model, [&](nn::LinearImpl& linear) {
    if (!linear.weight().is_same(excluded)) {
      visit(linear);
    }
  });
}

void require_finite(const Model& model) {
  for (const auto& parameter : model.named_parameters()) {
    const auto& values = parameter.value();
    if (values.is_floating_point() &&
        !std::isfinite(kernels::squared_norm(values.flatten()).value)) {
      throw UserError(str_cat("the weights of the model are not finite (", parameter.key(),
                              "): its training diverged, use an earlier checkpoint"));
    }
  }
}

void quantize(Model& model) {
  int64_t count = 0;
  visit_inner_linears(model, [&](nn::LinearImpl& linear) {
    linear.quantize();
    ++count;
  });
  if (count == 0) {
    throw UserError(architecture_of(model.options()) +
                    ": has no linear layers that can be quantized to int8");
  }
}

/// Not with torch::nn::Module::to, which would also convert whole numbers.
void convert(Model& model, at::ScalarType type) {
  for (const auto& tensors : {model.parameters(), model.buffers()}) {
    for (const auto& tensor : tensors) {
      if (tensor.is_floating_point()) {
        tensor.set_data(tensor.to(type));
      }
    }
  }
}

}  // namespace

void prepare_for_inference(Model& model, const InferenceOptions& options) {
  if (options.is_quantized && !options.device.is_cpu()) {
    throw UserError("int8 weights are only supported on the CPU: choose device cpu, or omit int8");
  }
  const at::NoGradGuard no_grad;
  require_finite(model);
  if (options.budget) {
    nn::set_computation_budget(model, *options.budget);
  }
  if (options.is_quantized) {
    quantize(model);  // from the stored weights
  }
  convert(model, options.type);
  model.to(options.device);
}

at::Tensor DecodingOutput::logits(Model& model, const nn::TokenStates& rows) const {
  if (quantized) {
    return kernels::quantized_linear(model.token_features(rows.states), *quantized);
  }
  return packed.depth > 0 ? kernels::product(model.token_features(rows.states), packed, bias)
                          : model.lm_logits(rows);
}

DecodingOutput DecodingOutput::select(Model& model, const std::vector<int64_t>& tokens) const {
  TORCH_CHECK(has_matrix(), "select needs an output matrix");
  const at::NoGradGuard no_grad;
  const auto selected = [&](const at::Tensor& x) {
    return x.defined() ? x.index_select(0, kernels::to_device(tokens, x.device())) : x;
  };
  if (quantized) {
    return {.quantized = kernels::select_outputs(*quantized, at::tensor(tokens, at::kLong))};
  }
  return {.packed = kernels::packed(selected(model.output_weight()).t()), .bias = selected(bias)};
}

DecodingOutput prepare_for_decoding(Model& model) {
  const at::NoGradGuard no_grad;
  bool is_quantized = false;
  visit_inner_linears(model, [&](nn::LinearImpl& linear) {
    is_quantized = is_quantized || linear.is_quantized();
    linear.pack();
  });
  const auto output = model.output_weight();
  if (!output.defined()) {
    return {};
  }
  if (is_quantized) {
    return {.quantized = kernels::quantized(output, model.output_bias())};
  }
  return {.packed = kernels::packed(output.t()), .bias = model.output_bias()};
}

at::ScalarType fast_type(const at::Device& device) {
  return device.is_cuda() || kernels::multiplies_bf16() ? at::kBFloat16 : at::kFloat;
}

}  // namespace weft::models
