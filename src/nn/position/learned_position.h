#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// A learned vector for each position (arXiv:1705.03122).
class LearnedPosition : public Position {
 public:
  explicit LearnedPosition(const PositionOptions& options);

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
  at::Tensor weight_;  // (offset + length, D)
};

}  // namespace weft::nn
