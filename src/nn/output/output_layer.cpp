#include "nn/output/output_layer.h"

namespace weft::nn {

namespace {

Registry<OutputDefinition>& output_registry() {
  static Registry<OutputDefinition> registry(
      "output type",
      {
          {"hierarchical", read_hierarchical_output},
          {"class_based", read_class_output},
          {.name = "adaptive", .read = read_adaptive_output, .tie_error = adaptive_tie_error},
          {"sampled", read_sampled_output, /*uses_output_matrix=*/true},
      });
  return registry;
}

}  // namespace

void OutputLayer::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  to(device, non_blocking);
  to(dtype, non_blocking);
}

void OutputLayer::to(torch::Dtype dtype, bool non_blocking) {
  for (auto& child : children()) {
    child->to(dtype, non_blocking);
  }
  for (auto& parameter : parameters(/*recurse=*/false)) {
    parameter.set_data(parameter.to(dtype, non_blocking));
  }
}

const Registry<OutputDefinition>& output_types() { return output_registry(); }

void register_output(const OutputDefinition& definition) { output_registry().add(definition); }

}  // namespace weft::nn
