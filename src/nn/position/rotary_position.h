#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// RoPE is applied in the attention, which rotates queries and keys (arXiv:2104.09864); only the
/// length is checked here.
class RotaryPosition : public Position {
 public:
  explicit RotaryPosition(const PositionOptions& options) : options_(options) {}

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
};

}  // namespace weft::nn
