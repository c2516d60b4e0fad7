#include "nn/position/learned_position.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace weft::nn {

LearnedPosition::LearnedPosition(const PositionOptions& options) : options_(options) {
  weight_ = register_parameter("weight", at::empty({options.offset + options.length, options.dim}));
}

PositionRows LearnedPosition::rows(const kernels::Layout& layout) {
  TORCH_CHECK(layout.position_limit <= options_.length, "a sequence of ", layout.position_limit,
              " tokens is longer than the model's maximum of ", options_.length, " positions");
  if (options_.offset == 0) {
    return {.table = weight_, .rows = layout.positions};
  }
  return {.table = weight_, .rows = layout.positions + options_.offset};
}

}  // namespace weft::nn
