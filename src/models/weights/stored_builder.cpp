#include "models/weights/stored_builder.h"

namespace weft::models {

void StoredBuilder::linear(const std::string& ours,
                           const std::string& stored,
                           const Linear& shape) {
  const auto sizes = shape.is_transposed ? std::vector<int64_t>{shape.inputs, shape.outputs}
                                         : std::vector<int64_t>{shape.outputs, shape.inputs};
  result.push_back({.parameter = ours + ".weight",
                    .name = stored + ".weight",
                    .shape = sizes,
                    .first_row = shape.first_row,
                    .part = shape.part,
                    .is_transposed = shape.is_transposed,
                    .interleaved_heads = shape.interleaved_heads});
  if (shape.has_bias) {
    result.push_back({.parameter = ours + ".bias",
                      .name = stored + ".bias",
                      .shape = {shape.outputs},
                      .first_row = shape.first_row,
                      .part = shape.part,
                      .interleaved_heads = shape.interleaved_heads});
  }
}

void StoredBuilder::table(const std::string& ours,
                          const std::string& stored,
                          std::vector<int64_t> shape,
                          Part part) {
  result.push_back({.parameter = ours + ".weight",
                    .name = stored + ".weight",
                    .shape = std::move(shape),
                    .part = part});
}

void StoredBuilder::norm(const std::string& ours,
                         const std::string& stored,
                         int64_t dim,
                         bool has_bias) {
  result.push_back({.parameter = ours + ".weight", .name = stored + ".weight", .shape = {dim}});
  if (has_bias) {
    result.push_back({.parameter = ours + ".bias", .name = stored + ".bias", .shape = {dim}});
  }
}

}  // namespace weft::models
