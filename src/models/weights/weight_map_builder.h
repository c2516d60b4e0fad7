#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "models/weights/weight_map.h"

namespace weft::models {

/// Builds the weight map of a model. Names are given without `.weight` and `.bias`.
class WeightMapBuilder {
 public:
  struct Linear {
    int64_t inputs = 0;
    int64_t outputs = 0;
    bool has_bias = true;
    int64_t first_row = 0;  // of the fused matrix
    bool is_transposed = false;
    int64_t interleaved_heads = 0;
    Part part = Part::kBackbone;
  };

  void linear(const std::string& parameter, const std::string& hf_name, const Linear& shape);
  void table(const std::string& parameter,
             const std::string& hf_name,
             std::vector<int64_t> shape,
             Part part = Part::kBackbone);
  void norm(const std::string& parameter,
            const std::string& hf_name,
            int64_t dim,
            bool has_bias = true,
            Part part = Part::kBackbone);

  std::vector<StoredTensor> result;
};

/// The parameters and buffers of a module, stored under their own names. `is_of_head`: belongs to
/// Part::kHead, else to the backbone.
std::vector<StoredTensor> tensors_by_name(
    const torch::nn::Module& module,
    const std::function<bool(const std::string& parameter)>& is_of_head);

}  // namespace weft::models
