#include "nn/position/rotary_position.h"

namespace weft::nn {

PositionRows RotaryPosition::rows(const kernels::Layout& layout) {
  TORCH_CHECK(layout.furthest <= options_.length, "a sequence of ", layout.furthest,
              " tokens is longer than the ", options_.length, " that the model takes");
  return {};
}

}  // namespace weft::nn
