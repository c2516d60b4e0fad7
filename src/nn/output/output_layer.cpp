#include "nn/output/output_layer.h"

#include <algorithm>
#include <numeric>

namespace weft::nn {

namespace {

Registry<OutputDefinition>& output_registry() {
  static Registry<OutputDefinition> registry(
      "output type", {
                         {"hierarchical", read_hierarchical_output},
                         {"class_based", read_class_output},
                         {"adaptive", read_adaptive_output},
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

std::vector<int64_t> by_frequency(const std::vector<int64_t>& counts) {
  std::vector<int64_t> tokens(counts.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::stable_sort(tokens.begin(), tokens.end(), [&](int64_t a, int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  return tokens;
}

}  // namespace weft::nn
