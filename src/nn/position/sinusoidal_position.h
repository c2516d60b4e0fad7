#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Sines and cosines with wavelengths from 2 pi to 10,000 * 2 pi (arXiv:1706.03762, section 3.5):
/// not learned, no maximum length.
class SinusoidalPosition : public Position {
 public:
  explicit SinusoidalPosition(const PositionOptions& options) : options_(options) {}

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
  at::Tensor table_;  // (P, D), grown on demand
};

}  // namespace weft::nn
