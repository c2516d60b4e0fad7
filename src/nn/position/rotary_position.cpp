#include "nn/position/rotary_position.h"

namespace weft::nn {

PositionRows RotaryPosition::rows(const kernels::Layout& layout) {
  TORCH_CHECK(layout.position_limit <= options_.length, "a sequence of ", layout.position_limit,
              " tokens is longer than the model's maximum of ", options_.length, " tokens");
  return {};
}

}  // namespace weft::nn
