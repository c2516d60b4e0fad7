#include "nn/position/sinusoidal_position.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace weft::nn {

namespace {

at::Tensor sinusoids(int64_t positions, const PositionOptions& options) {
  const int64_t dim = options.dim;
  const int64_t half = (dim + 1) / 2;
  const auto pairs = at::arange(half, at::kDouble);
  const auto waves = at::pow(10000.0, -2.0 * pairs / static_cast<double>(dim));
  const auto angles = at::arange(positions, at::kDouble).unsqueeze(1) * waves;  // (P, D / 2)
  if (options.is_interleaved) {
    return at::stack({angles.sin(), angles.cos()}, 2).flatten(1).narrow(1, 0, dim).to(at::kFloat);
  }
  return at::cat({angles.sin(), angles.cos()}, 1).narrow(1, 0, dim).to(at::kFloat);
}

}  // namespace

PositionRows SinusoidalPosition::rows(const kernels::Layout& layout) {
  const int64_t wanted = options_.offset + layout.position_limit;
  if (!table_.defined() || table_.size(0) < wanted ||
      table_.device() != layout.positions.device()) {
    constexpr int64_t kFewest = 128;
    table_ = sinusoids(std::max({wanted, 2 * (table_.defined() ? table_.size(0) : 0), kFewest}),
                       options_)
                 .to(layout.positions.device());
  }
  return {.table = table_,
          .rows = options_.offset == 0 ? layout.positions : layout.positions + options_.offset};
}

}  // namespace weft::nn
