#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/growing_table.h"
#include "nn/position/position_types.h"

namespace weft::nn {

at::Tensor sinusoids(int64_t positions, int64_t dim, bool is_interleaved) {
  const int64_t half = (dim + 1) / 2;
  const auto pairs = at::arange(half, at::kDouble);
  const auto waves = at::pow(10000.0, -2.0 * pairs / static_cast<double>(dim));
  const auto angles = at::arange(positions, at::kDouble).unsqueeze(1) * waves;  // (P, D / 2)
  if (is_interleaved) {
    return at::stack({angles.sin(), angles.cos()}, 2).flatten(1).narrow(1, 0, dim).to(at::kFloat);
  }
  return at::cat({angles.sin(), angles.cos()}, 1).narrow(1, 0, dim).to(at::kFloat);
}

namespace {

class SinusoidalPosition : public PositionEmbedding {
 public:
  SinusoidalPosition(const PositionOptions& options, bool is_interleaved)
      : options_(options), is_interleaved_(is_interleaved) {}

  PositionRows rows(const kernels::Layout& layout) override {
    return {.table = table_.at_least(
                options_.offset + layout.position_limit, layout.positions.device(),
                [&](int64_t rows) { return sinusoids(rows, options_.dim, is_interleaved_); }),
            .rows = options_.offset == 0 ? layout.positions : layout.positions + options_.offset};
  }

 private:
  PositionOptions options_;
  bool is_interleaved_;
  GrowingTable table_;  // (P, D)
};

}  // namespace

PositionMaker sinusoidal_position(const SinusoidalOptions& sinusoidal) {
  return [is_interleaved = sinusoidal.is_interleaved](const PositionOptions& options) {
    return std::make_shared<Position>(
        Position{.embedding = std::make_shared<SinusoidalPosition>(options, is_interleaved)});
  };
}

PositionMaker read_sinusoidal_position(config::Section& section) {
  SinusoidalOptions sinusoidal;
  const config::Choices<bool> layouts = {{"interleaved", true}, {"halves", false}};
  section.read_choice("layout", sinusoidal.is_interleaved, layouts,
                      {.help = "Order of the features: sines and cosines alternate "
                               "(interleaved), or all sines come first (halves, as in Marian)."});
  return sinusoidal_position(sinusoidal);
}

}  // namespace weft::nn
