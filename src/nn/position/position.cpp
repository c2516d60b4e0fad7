#include "nn/position/position.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace weft::nn {

namespace {

/// A learned vector for each position (arXiv:1705.03122).
class LearnedPosition : public Position {
 public:
  explicit LearnedPosition(const PositionOptions& options);

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
  at::Tensor weight_;  // (offset + length, D)
};

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

/// RoPE is applied in the attention, which rotates queries and keys (arXiv:2104.09864); only the
/// length is checked here.
class RotaryPosition : public Position {
 public:
  explicit RotaryPosition(const PositionOptions& options) : options_(options) {}

  PositionRows rows(const kernels::Layout& layout) override;

 private:
  PositionOptions options_;
};

PositionRows RotaryPosition::rows(const kernels::Layout& layout) {
  TORCH_CHECK(layout.position_limit <= options_.length, "a sequence of ", layout.position_limit,
              " tokens is longer than the model's maximum of ", options_.length, " tokens");
  return {};
}

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

class NoPosition : public Position {
 public:
  PositionRows rows(const kernels::Layout& /*layout*/) override { return {}; }
};

}  // namespace

std::shared_ptr<Position> make_position(const PositionOptions& options) {
  switch (options.type) {
    case PositionType::kLearned:
      return std::make_shared<LearnedPosition>(options);
    case PositionType::kRotary:
      return std::make_shared<RotaryPosition>(options);
    case PositionType::kSinusoidal:
      return std::make_shared<SinusoidalPosition>(options);
    case PositionType::kNone:
      return std::make_shared<NoPosition>();
  }
  TORCH_CHECK(false, "unknown position encoding");
}

const config::Choices<PositionType>& position_types() {
  static const config::Choices<PositionType> kTypes = {{"learned", PositionType::kLearned},
                                                       {"rotary", PositionType::kRotary},
                                                       {"sinusoidal", PositionType::kSinusoidal},
                                                       {"none", PositionType::kNone}};
  return kTypes;
}

}  // namespace weft::nn
