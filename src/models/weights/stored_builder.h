#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/weights/names.h"

namespace weft::models {

/// Collects what a model's file holds. Names come without `.weight` and `.bias`.
class StoredBuilder {
 public:
  struct Linear {
    int64_t inputs = 0;
    int64_t outputs = 0;
    bool has_bias = true;
    int64_t first_row = 0;  // of our fused matrix
    bool is_transposed = false;
    int64_t interleaved_heads = 0;
    Part part = Part::kBackbone;
  };

  void linear(const std::string& ours, const std::string& stored, const Linear& shape);
  void table(const std::string& ours,
             const std::string& stored,
             std::vector<int64_t> shape,
             Part part = Part::kBackbone);
  void norm(const std::string& ours, const std::string& stored, int64_t dim, bool has_bias = true);

  std::vector<StoredTensor> result;
};

}  // namespace weft::models
