#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Sines and cosines of wave lengths from 2 pi to 10,000 * 2 pi (arXiv:1706.03762, section 3.5):
/// nothing is learned, and no sequence is too long.
class SinusoidalPosition : public Position {
 public:
  explicit SinusoidalPosition(const PositionOptions& options) : options_(options) {}

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
  at::Tensor table_;  // (P, D), as long as was needed so far
};

}  // namespace weft::nn
