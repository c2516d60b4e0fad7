#include "models/weights/weight_map_builder.h"

namespace weft::models {

void WeightMapBuilder::linear(const std::string& parameter,
                              const std::string& hf_name,
                              const Linear& shape) {
  const auto sizes = shape.is_transposed ? std::vector<int64_t>{shape.inputs, shape.outputs}
                                         : std::vector<int64_t>{shape.outputs, shape.inputs};
  result.push_back({.parameter = parameter + ".weight",
                    .name = hf_name + ".weight",
                    .shape = sizes,
                    .first_row = shape.first_row,
                    .part = shape.part,
                    .is_transposed = shape.is_transposed,
                    .interleaved_heads = shape.interleaved_heads});
  if (shape.has_bias) {
    result.push_back({.parameter = parameter + ".bias",
                      .name = hf_name + ".bias",
                      .shape = {shape.outputs},
                      .first_row = shape.first_row,
                      .part = shape.part,
                      .interleaved_heads = shape.interleaved_heads});
  }
}

void WeightMapBuilder::table(const std::string& parameter,
                             const std::string& hf_name,
                             std::vector<int64_t> shape,
                             Part part) {
  result.push_back({.parameter = parameter + ".weight",
                    .name = hf_name + ".weight",
                    .shape = std::move(shape),
                    .part = part});
}

void WeightMapBuilder::norm(const std::string& parameter,
                            const std::string& hf_name,
                            int64_t dim,
                            bool has_bias,
                            Part part) {
  result.push_back({.parameter = parameter + ".weight",
                    .name = hf_name + ".weight",
                    .shape = {dim},
                    .part = part});
  if (has_bias) {
    result.push_back({.parameter = parameter + ".bias",
                      .name = hf_name + ".bias",
                      .shape = {dim},
                      .part = part});
  }
}

std::vector<StoredTensor> tensors_by_name(
    const torch::nn::Module& module,
    const std::function<bool(const std::string& parameter)>& is_of_head) {
  std::vector<StoredTensor> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor,
                       std::optional<formats::DType> dtype) {
    tensors.push_back({.parameter = name,
                       .name = name,
                       .shape = tensor.sizes().vec(),
                       .part = is_of_head(name) ? Part::kHead : Part::kBackbone,
                       .dtype = dtype});
  };
  for (const auto& parameter : module.named_parameters()) {
    add(parameter.key(), parameter.value(), std::nullopt);
  }
  for (const auto& buffer : module.named_buffers()) {
    const auto type = buffer.value().scalar_type();
    add(buffer.key(), buffer.value(),
        type == at::kLong  ? formats::DType::kI64
        : type == at::kInt ? formats::DType::kI32
                           : formats::DType::kF32);
  }
  return tensors;
}

}  // namespace weft::models
