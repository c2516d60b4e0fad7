#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Places enter in the attention, which turns queries and keys by them (arXiv:2104.09864); here is
/// only the check of the length.
class RotaryPosition : public Position {
 public:
  explicit RotaryPosition(const PositionOptions& options) : options_(options) {}

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
};

}  // namespace weft::nn
