#include "models/inference.h"

#include <cmath>
#include <set>
#include <string>

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

/// The module as a linear layer, except an output matrix over the vocabulary; else nullptr.
nn::LinearImpl* inner_linear(Model& model, torch::nn::Module& module) {
  auto* const linear = dynamic_cast<nn::LinearImpl*>(&module);
  const bool is_output = linear != nullptr && head_of(model.options()).predicts_words() &&
                         linear->weight().is_same(model.output_weight());
  return is_output ? nullptr : linear;
}

void require_finite(const std::string& name, const at::Tensor& values) {
  if (values.is_floating_point() && !std::isfinite(kernels::squared_norm(values.flatten()).value)) {
    throw UserError(str_cat("the weights of the model are not finite (", name,
                            "): its training diverged, use an earlier checkpoint"));
  }
}

/// Not with torch::nn::Module::to, which would also convert whole numbers.
void convert(const at::Tensor& tensor, at::ScalarType type) {
  if (tensor.is_floating_point()) {
    tensor.set_data(tensor.to(type));
  }
}

/// Checks and converts the parameters of a model, each module once.
class Preparation {
 public:
  explicit Preparation(const InferenceOptions& options) : options_(options) {
    if (options.is_quantized && !options.device.is_cpu()) {
      throw UserError(
          "int8 weights are only supported on the CPU: choose device cpu, or omit int8");
    }
  }

  /// The module's own parameters.
  void add(Model& model, const std::string& name, torch::nn::Module& module) {
    if (!prepared_.insert(&module).second) {
      return;
    }
    for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
      require_finite(name.empty() ? parameter.key() : name + "." + parameter.key(),
                     parameter.value());
    }
    auto* const linear = options_.is_quantized ? inner_linear(model, module) : nullptr;
    if (linear != nullptr) {
      linear->quantize();  // from the stored weights
      ++quantized_;
    }
    for (const auto& parameter : module.parameters(/*recurse=*/false)) {
      convert(parameter, options_.type);
    }
  }

  void finish(Model& model) {
    if (options_.budget) {
      nn::set_computation_budget(model, *options_.budget);
    }
    for (const auto& module : model.named_modules()) {
      add(model, module.key(), *module.value());
    }
    if (options_.is_quantized && quantized_ == 0) {
      throw UserError(architecture_of(model.options()) +
                      ": has no linear layers that can be quantized to int8");
    }
    for (const auto& buffer : model.buffers()) {
      convert(buffer, options_.type);
    }
    model.to(options_.device);
  }

 private:
  InferenceOptions options_;
  std::set<const torch::nn::Module*> prepared_;
  int64_t quantized_ = 0;
};

}  // namespace

LoadedModel load_for_inference(const std::string& directory,
                               const ModelOptions& options,
                               const InferenceOptions& inference) {
  const at::NoGradGuard no_grad;
  Preparation preparation(inference);
  auto loaded = load_model(directory, options, 0, {},
                           [&](Model& model, const std::string& name, torch::nn::Module& module) {
                             preparation.add(model, name, module);
                           });
  preparation.finish(*loaded.model);
  return loaded;
}

void require_trained_head(const std::string& directory, const LoadedModel& loaded) {
  if (!loaded.missing_keys.empty()) {
    throw formats::Error(str_cat(directory, ": ", loaded.missing_keys.front(),
                                 " is missing: the model has no trained head"));
  }
}

void prepare_for_inference(Model& model, const InferenceOptions& options) {
  const at::NoGradGuard no_grad;
  Preparation(options).finish(model);
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
  for (const auto& module : model.modules()) {
    if (auto* const linear = inner_linear(model, *module)) {
      is_quantized = is_quantized || linear->is_quantized();
      linear->pack();
    }
  }
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
